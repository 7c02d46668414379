# Read by tests that train: in a build for a GPU that is not there they are skipped.
"$TT" info >/dev/null 2>&1
[ $? != 3 ] || { echo "skipped: no device for this build of tt"; exit 77; }
