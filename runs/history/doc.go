// Package history finds the logs of runs: on this machine, and in the records that hosts
// keep of runs (see package record), so that another machine can show, continue and
// revert a run.
//
// [Local] has the logs of this machine. Fetch adds the records of hosts: it asks each for
// its list, reads of each run the header and the outcome, and reads the runs that its
// caller selects whole. The newest of several copies counts. Fetched logs are written to
// a temporary directory, in the form of journals, until Close.
//
// Hosts are not trusted. A fetched log is data about a run: it is bounded, decoded
// strictly and sanitized; its paths are never opened ([Relocate] compares them with
// those of this machine), and what it would add to inventory and playbook ([Entry.Claims])
// is for people to confirm. Copies that contradict each other are an error.
package history
