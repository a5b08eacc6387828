package runs

const verbRotateEncryptionKey = "certs-rotate-encryption-key"

// RotateEncryptionKey returns a run that replaces the key with which API servers encrypt
// Secrets.
func (c Runner) RotateEncryptionKey(o Options) (*Run, error) {
	o.Verb = verbRotateEncryptionKey
	return c.changing(o)
}
