// Package certificates has what the renewals of a master and of another node have in common: the
// certificates of a host compared with what they have to be, the processes that read theirs only when they
// start, the proof that a server serves its file, and the way back to the former files.
package certificates
