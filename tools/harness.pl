#!/usr/bin/perl
# tools/harness.pl JOBS [--exec PROGRAM] TEST…   runs tests that speak the Test Anything Protocol, or reads what they said (x.tap)
#
# Prints what prove prints, and the tests that took longest. Appends to the file $TEST_RESULTS, for tools/results.sh, with tabs between:
#     passed   NUMBER
#     failed   TEST: CHECK
#     skipped  TEST       REASON
# With CI=true, a check that is skipped for want of a package fails if `make deps` installs that package: its reason says "package NAME".
use strict;
use warnings;
use TAP::Harness;

my %options = (jobs => shift @ARGV, color => -t STDOUT ? 1 : 0);
if (@ARGV && $ARGV[0] eq '--exec') {
    shift @ARGV;
    @options{'exec', 'timer'} = ([shift @ARGV], 1);
}

my %installed;
if (($ENV{CI} // '') eq 'true') {
    $installed{$_} = 1 for split ' ', `tools/deps.sh packages`;
}

my ($passed, @failed, @skipped) = 0;

sub skip {
    my ($test, $reason) = @_;
    if ($reason =~ /\bpackage ([\w.+-]+)/ && $installed{$1}) {
        push @failed, "$test: skipped for want of the package $1, which \`make deps\` installs";
    } else {
        push @skipped, "$test\t$reason";
    }
}

my $harness = TAP::Harness->new(\%options);
$harness->callback(made_parser => sub {
    my ($parser, $job) = @_;
    my $name = $job->[1] // $job->[0];
    $parser->callback(plan => sub {
        my $plan = shift;
        skip($name, $plan->explanation // '') if ($plan->directive // '') eq 'SKIP';
    });
    $parser->callback(test => sub {
        my $check = shift;
        if ($check->has_skip) { skip($name, $check->explanation) }
        elsif ($check->is_ok) { $passed++ }
        else { push @failed, join ' ', "$name:", $check->number, $check->description }
    });
});
my $aggregate = $harness->runtests(@ARGV);

# What failed without a check that did: a wrong plan, a signal, an exit status.
my %seconds;
for my $name ($aggregate->descriptions) {
    my ($parser) = $aggregate->parsers($name);
    $seconds{$name} = $parser->end_time - $parser->start_time;
    next if !$parser->has_problems || $parser->failed;
    my $status = $parser->wait;
    push @failed, "$name: " . join '; ', $parser->parse_errors,
        $status ? ($status & 127 ? 'signal ' . ($status & 127) : 'exit status ' . ($status >> 8)) : ();
}

my @longest = sort { $seconds{$b} <=> $seconds{$a} || $a cmp $b } keys %seconds;
splice @longest, 10 if @longest > 10;
printf "# the longest: %s\n", join ', ', map { sprintf '%s %.0f s', $_, $seconds{$_} } @longest if $options{exec};

if ($ENV{TEST_RESULTS}) {
    open my $results, '>>', $ENV{TEST_RESULTS} or die "$ENV{TEST_RESULTS}: $!\n";
    print $results "passed\t$passed\n", map({ "failed\t$_\n" } @failed), map { "skipped\t$_\n" } @skipped;
    close $results or die "$ENV{TEST_RESULTS}: $!\n";
}
exit(@failed ? 1 : 0);
