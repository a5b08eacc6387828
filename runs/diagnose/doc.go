// Package diagnose makes one archive of what the playbook diagnose has found on the hosts,
// with a first page that says what looks wrong.
//
// A [Collector] receives the events of the run. The collector removes what looks like a secret (see
// package scrub) and writes each output to a private temporary directory, so that memory
// does not grow with the number of hosts; one goroutine for each CPU does so, and Emit waits
// when all are busy. Write examines one host after another by the rules of package rules
// and writes the archive. Close removes the directory.
package diagnose
