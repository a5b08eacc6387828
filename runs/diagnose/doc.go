// Package diagnose makes one archive of the data that the playbook diagnose has
// collected on the hosts, with a first page that lists the problems.
//
// A [Collector] receives the events of the run. The collector removes texts that look
// like secrets (see package scrub) and writes each output to a private temporary
// directory, so that memory does not grow with the number of hosts; one goroutine for
// each CPU does so, and Emit waits when all are busy. Write examines one host after
// another by the rules of package rules and writes the archive. Close removes the
// directory.
package diagnose
