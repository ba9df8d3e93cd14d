#!/bin/bash
# tests/service/prometheus.sh [MINUTES]: Debian's prometheus scrapes a script that counts a redis-server's commands, for ten
# minutes under load, with five reloads of the script and three upgrades of the server. Its numbers are redis's own but for
# what the ledger has, no series goes back, and none has a gap. make test-prometheus installs what it needs.
set -u
minutes=${1:-10}
D=$(mktemp -d)
redis=6399 port=9436 web=9437
started=()
failed=0
check() { # check NAME CONDITION…: one line for each, as TAP has it
    local name=$1
    shift
    if "$@"; then echo "ok - $name"; else echo "not ok - $name"; failed=1; fi
}
finish() {
    for pid in "${started[@]}"; do kill "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$D"
}
trap finish EXIT

# The server is a file of its own, which is replaced.
upgrade() { cp /usr/bin/redis-server "$D/.new" && mv "$D/.new" "$D/redis-server"; }
serve_redis() {
    "$D/redis-server" --port $redis --save '' --dir "$D" --logfile "$D/redis.log" >/dev/null 2>&1 &
    server=$!
    started+=("$server")
    until redis-cli -p $redis ping >/dev/null 2>&1; do sleep 0.02; done
}
# What the server has counted by now, and of servers that are gone.
total=0
commands() { redis-cli -p $redis info stats | tr -d '\r' | sed -n 's/^total_commands_processed://p'; }
stop_redis() { total=$((total + $(commands))); kill "$server"; wait "$server" 2>/dev/null; }

script() {
    cat <<END
local up = require "uplua"
local calls, times = up.count(), up.hist { unit = "ns" }
up.uretprobe("$D/redis-server:call", function(e)
  calls[e.comm]:inc()
  times:add(e.elapsed)
end)
up.metric("redis_calls", calls, { labels = { "thread" }, help = "version $1" })
up.metric("redis_call", times, { help = "how long they took" })
END
}

upgrade
script 0 >"$D/redis.lua"
./uplua --serve $port "$D/redis.lua" >"$D/out" 2>"$D/err" &
uplua=$!
started+=("$uplua")
until grep -q 'serving metrics' "$D/err"; do kill -0 $uplua || { cat "$D/err"; exit 1; }; sleep 0.1; done
serve_redis
cat >"$D/prometheus.yml" <<END
global: { scrape_interval: 1s }
scrape_configs:
  - job_name: uplua
    static_configs: [{ targets: ["127.0.0.1:$port"] }]
END
prometheus --config.file="$D/prometheus.yml" --storage.tsdb.path="$D/data" --web.listen-address=127.0.0.1:$web \
    --log.level=error >"$D/prometheus.log" 2>&1 &
started+=($!)
ask() { curl -s --get --data-urlencode "query=$1" http://127.0.0.1:$web/api/v1/query | sed -n 's/.*"value":\[[^,]*,"\([^"]*\)".*/\1/p'; }
until [ "$(ask 'up{job="uplua"}')" = 1 ]; do sleep 0.5; done

# Load all the time, and eight changes in it.
(while :; do redis-benchmark -p $redis -n 20000 -c 8 -q -t set,get >/dev/null 2>&1; sleep 0.1; done) &
load=$!
started+=($load)
seconds=$((minutes * 60)) began=$SECONDS
for change in 1 2 3 4 5 6 7 8; do
    until [ $((SECONDS - began)) -ge $((seconds * change / 9)) ]; do sleep 0.2; done
    case $change in
    2 | 5 | 7) # an upgrade
        stop_redis
        upgrade
        serve_redis
        ;;
    *) script $change >"$D/.lua" && mv "$D/.lua" "$D/redis.lua" && kill -HUP $uplua ;;
    esac
done
until [ $((SECONDS - began)) -ge $seconds ]; do sleep 0.2; done
kill $load
wait $load 2>/dev/null
sleep 3 # the last scrape has all

curl -s http://127.0.0.1:$port/metrics >"$D/metrics"
check "promtool check metrics" promtool check metrics <"$D/metrics"
range=$((minutes + 1))m
own=$((total + $(commands)))
counted=$(ask 'sum(redis_calls_total)')
echo "# redis has processed $own commands, and prometheus has $counted; hits of the probe: $(ask 'sum(uplua_hits_total)')"
check "as many as redis's own, but for 0.5 %" \
    awk "BEGIN { exit !($counted >= 0.995 * $own && $counted <= 1.005 * $own) }"
check "the histogram has as many" [ "$(ask 'sum(redis_call_seconds_count)')" = "$counted" ]
back=
for name in redis_calls_total redis_call_seconds_count redis_call_seconds_sum redis_call_seconds_bucket uplua_hits_total; do
    resets=$(ask "sum(resets($name[$range]))")
    [ "$resets" = 0 ] || back="$back $name:$resets"
done
check "no series goes back$back" [ -z "$back" ]
# Each second has a sample: as many as there were scrapes, of the series that was there first.
samples=$(ask "max(count_over_time(redis_calls_total[$range]))") scrapes=$(ask "count_over_time(up{job=\"uplua\"}[$range])")
downs=$(ask "count_over_time(up{job=\"uplua\"}[$range]) - sum_over_time(up{job=\"uplua\"}[$range])")
echo "# $samples samples of $scrapes scrapes, $downs of which failed"
check "no gap in a series" [ "$downs" = 0 -a $((scrapes - samples)) -le 5 ]
echo "# lost: $(grep '^uplua_lost_total' "$D/metrics" | cut -c1-200)"
grep -v '^uplua: serving\|^uplua: runs on' "$D/err" | sed 's/^/# /' | head -20
exit $failed
