#!/usr/bin/perl
# tools/harness.pl JOBS [--exec PROGRAM] TEST…   runs tests that speak the Test Anything Protocol, or reads what they said (x.tap)
#
# What failed runs a second time, alone; of what was said, x.tap.again is the second time, if there is one. A test that then passes is
# unstable: named, with what failed, but tools/results.sh takes a few of these. Where more than $SECOND_LOOKS tests fail, it is not they that
# are unstable, and none runs again.
#
# Prints what prove prints, what is to be known of a failure as soon as it is there, and the tests that took longest. Appends to the file
# $TEST_RESULTS, for tools/results.sh, with tabs between:
#     passed   NUMBER
#     failed   TEST: CHECK    LINE LINE…      what it said behind that check, or before it died
#     unstable TEST: CHECK    LINE LINE…      the same, of the first time
#     skipped  TEST           REASON
# With CI=true, a check that is skipped for want of a package fails if `make deps` installs that package: its reason says "package NAME".
use strict;
use warnings;
use TAP::Harness;

$| = 1;
my ($SECOND_LOOKS, $LINES, $WIDTH) = (12, 12, 200);

my %options = (jobs => shift @ARGV, color => -t STDOUT ? 1 : 0, merge => 1,
    sources => {File => {extensions => ['.tap', '.again']}});
if (@ARGV && $ARGV[0] eq '--exec') {
    shift @ARGV;
    @options{'exec', 'timer'} = ([shift @ARGV], 1);
}

my %installed;
if (($ENV{CI} // '') eq 'true') {
    $installed{$_} = 1 for split ' ', `tools/deps.sh packages`;
}

# A line as it can stand in $TEST_RESULTS.
sub line {
    my $text = shift;
    $text =~ s/[\t\r\n]+/ /g;
    return length $text > $WIDTH ? substr($text, 0, $WIDTH) . ' …' : $text;
}

sub skip {
    my ($result, $reason) = @_;
    if ($reason =~ /\bpackage ([\w.+-]+)/ && $installed{$1}) {
        push @{$result->{failed}}, ["skipped for want of the package $1, which \`make deps\` installs"];
    } else {
        push @{$result->{skipped}}, line($reason);
    }
}

# look(JOBS, SAY, TEST…): runs these → their names, and for each { passed, failed => [[CHECK, LINE…]…], skipped => [REASON…], seconds }.
# A test is a name, or [x.tap.again, name].
sub look {
    my ($jobs, $say, @tests) = @_;
    my (%results, %last);
    my $harness = TAP::Harness->new({%options, jobs => $jobs});
    $harness->callback(made_parser => sub {
        my ($parser, $job) = @_;
        my $name = $job->[1] // $job->[0];
        my $result = $results{$name} = {passed => 0, failed => [], skipped => []};
        my $lines; # of the check that failed last
        $parser->callback(plan => sub {
            my $plan = shift;
            skip($result, $plan->explanation // '') if ($plan->directive // '') eq 'SKIP';
        });
        $parser->callback(test => sub {
            my $check = shift;
            undef $lines;
            if ($check->has_skip) { skip($result, $check->explanation) }
            elsif ($check->is_ok) { $result->{passed}++ }
            else { push @{$result->{failed}}, $lines = [join ' ', $check->number, $check->description] }
        });
        $parser->callback(ALL => sub {
            my $said = shift;
            push @{$last{$name}}, line($said->raw);
            shift @{$last{$name}} if @{$last{$name}} > $LINES;
            push @$lines, line($said->raw) if $lines && ($said->is_comment || $said->is_unknown) && @$lines <= $LINES;
        });
    });
    my $aggregate = $harness->runtests(@tests);

    # What failed without a check that did: a wrong plan, a signal, an exit status.
    for my $name ($aggregate->descriptions) {
        my ($parser) = $aggregate->parsers($name);
        my $result = $results{$name};
        $result->{seconds} = $parser->end_time - $parser->start_time;
        if ($parser->has_problems && !$parser->failed) {
            my $status = $parser->wait;
            push @{$result->{failed}}, [join('; ', $parser->parse_errors,
                $status ? ($status & 127 ? 'signal ' . ($status & 127) : 'exit status ' . ($status >> 8)) : ()), @{$last{$name} // []}];
        }
        for my $failure ($say ? @{$result->{failed}} : ()) {
            my ($check, @lines) = @$failure;
            print "# $name: $check\n", map { "    $_\n" } @lines;
        }
    }
    return %results;
}

my %results = look($options{jobs}, 1, @ARGV);
my @failed = grep { @{$results{$_}{failed}} } sort keys %results;
my (%again, %unstable);
if (@failed && @failed <= $SECOND_LOOKS) {
    my @tests = $options{exec} ? @failed : map { -e "$_.again" ? ["$_.again", $_] : () } @failed;
    if (@tests) {
        print "# a second look at what failed\n";
        %again = look(1, 1, @tests);
    }
}
for my $name (sort keys %again) {
    next if @{$again{$name}{failed}};
    $unstable{$name} = $results{$name}{failed};
    $results{$name} = {%{$again{$name}}, seconds => $results{$name}{seconds}};
}

my @longest = sort { $results{$b}{seconds} <=> $results{$a}{seconds} || $a cmp $b } keys %results;
splice @longest, 10 if @longest > 10;
printf "# the longest: %s\n", join ', ', map { sprintf '%s %.0f s', $_, $results{$_}{seconds} } @longest if $options{exec};

if ($ENV{TEST_RESULTS}) {
    open my $out, '>>', $ENV{TEST_RESULTS} or die "$ENV{TEST_RESULTS}: $!\n";
    my $passed = 0;
    for my $name (sort keys %results) {
        my $result = $results{$name};
        $passed += $result->{passed};
        for (@{$result->{failed}}) {
            my ($check, @lines) = @$_;
            print $out join("\t", 'failed', line("$name: $check"), @lines), "\n";
        }
        print $out "skipped\t$name\t$_\n" for @{$result->{skipped}};
    }
    for my $name (sort keys %unstable) {
        for (@{$unstable{$name}}) {
            my ($check, @lines) = @$_;
            print $out join("\t", 'unstable', line("$name: $check"), @lines), "\n";
        }
    }
    print $out "passed\t$passed\n";
    close $out or die "$ENV{TEST_RESULTS}: $!\n";
}
exit((grep { @{$_->{failed}} } values %results) ? 1 : 0);
