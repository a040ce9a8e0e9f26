# Counts the tests of one CTest run, single specs and single C functions as one
# test each. Input: its JUnit file, then its log. Output: passed failed skipped.

FNR == NR && /<testcase / {
  match($0, /name="[^"]*"/)
  name = substr($0, RSTART + 6, RLENGTH - 7)
  match($0, /status="[^"]*"/)
  status = substr($0, RSTART + 8, RLENGTH - 9)
  if (status == "fail") {
    failed_entry[name] = 1
    failed++
  } else if (status != "run") {
    skipped++
  } else if (name !~ /^(c|spec)\./) {
    passed++
  }
}

FNR != NR && /^[0-9]+\/[0-9]+ Testing: / { entry = $NF }

# "ok 3 - test_name" of a C unit.
FNR != NR && entry ~ /^c\./ && /^ok [0-9]+ - / { passed++ }

# "12 successes / 0 failures / 0 errors / 1 pending : 0.5 seconds" of busted.
FNR != NR && entry ~ /^spec\./ && / success(es)? \/ / {
  passed += $1
  skipped += $10
  if (entry in failed_entry && $4 + $7 > 0) {
    failed += $4 + $7 - 1
  }
}

END { print passed + 0, failed + 0, skipped + 0 }
