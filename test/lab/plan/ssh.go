package plan

import (
	"bytes"
	"fmt"
	"strings"
)

// SSHConfig returns the ssh_config(5) of a lab: every host by its name, with user root,
// the lab's key, and checked host keys.
func SSHConfig(files Files, hosts []Host) []byte {
	var b bytes.Buffer
	for _, h := range hosts {
		fmt.Fprintf(&b, "Host %s\n  HostName %s\n", h.Name, h.Address)
	}
	fmt.Fprintf(&b, "Host *\n  User root\n  IdentityFile %q\n  IdentitiesOnly yes\n", files.Key())
	fmt.Fprintf(&b, "  UserKnownHostsFile %q\n  GlobalKnownHostsFile /dev/null\n", files.KnownHosts())
	b.WriteString("  StrictHostKeyChecking yes\n  BatchMode yes\n  ConnectTimeout 10\n  LogLevel ERROR\n")
	return b.Bytes()
}

// KnownHosts returns the known_hosts lines of one host from the public keys of its first
// boot (lines of the form "type base64 comment").
func KnownHosts(h Host, publicKeys string) ([]byte, error) {
	var b bytes.Buffer
	for line := range strings.Lines(publicKeys) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) < 2 {
			return nil, fmt.Errorf("host %s: not a public key: %q", h.Name, line)
		}
		fmt.Fprintf(&b, "%s,%s %s %s\n", h.Name, h.Address, f[0], f[1])
	}
	if b.Len() == 0 {
		return nil, fmt.Errorf("host %s has no SSH host key", h.Name)
	}
	return b.Bytes(), nil
}
