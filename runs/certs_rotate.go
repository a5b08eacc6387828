package runs

// The verbs of runs that replace keys of a cluster in use.
const (
	verbRotateEncryptionKey = "certs-rotate-encryption-key"
	verbRotateCA            = "certs-rotate-ca"
)

// RotateEncryptionKey returns a run that replaces the key with which API servers encrypt
// Secrets.
func (c Runner) RotateEncryptionKey(o Options) (*Run, error) {
	o.Verb = verbRotateEncryptionKey
	return c.changing(o)
}

// RotateCA returns a run that replaces certificate authorities.
func (c Runner) RotateCA(o Options) (*Run, error) {
	o.Verb = verbRotateCA
	return c.changing(o)
}
