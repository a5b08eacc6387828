package runs

import "deployer/engine/journal"

// RotateEncryptionKey returns a run that replaces the key with which API servers encrypt
// Secrets.
func (c Runner) RotateEncryptionKey(o Options) (*Run, error) {
	o.Verb = journal.VerbRotateEncryptionKey
	return c.changing(o)
}

// RotateCA returns a run that replaces certificate authorities.
func (c Runner) RotateCA(o Options) (*Run, error) {
	o.Verb = journal.VerbRotateCA
	return c.changing(o)
}
