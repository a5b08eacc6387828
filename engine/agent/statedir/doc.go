// Package statedir is the directory in which a host keeps what outlives an agent: the
// journals of runs, pending handlers, deferred work, the run lock, and the records that
// the host holds for controllers. [Dir] lists the files.
//
// Agents of one host share the directory: [Dir.Lock] is the lock that a segment holds,
// [RunLock] the one that a run holds. Files are for their owner only, and each carries
// the number of its format, so that a newer one is refused and never misread.
//
// Package agent calls it, and package undo, whose backups are files of the same
// directory. The package starts no goroutines.
package statedir
