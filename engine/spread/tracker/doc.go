// Package tracker is the controller's part in the distribution of large blobs. It connects the
// rules of package spread to the sessions of a run: it makes the authority and the certificates
// of the run, cuts blobs into chunks, and sends each host the source of its next chunks.
//
// A Tracker implements remote.Peers. Its state is in memory and ends with the run.
package tracker
