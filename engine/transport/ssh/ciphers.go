package ssh

import (
	"runtime"
	"slices"

	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/sys/cpu"
)

// ciphers returns the ciphers to offer, the fastest on this machine first. With AES
// instructions AES-128-GCM is several times as fast as ChaCha20-Poly1305, and the
// reverse without them. The others keep the order of x/crypto/ssh.
func ciphers() []string {
	all := gossh.SupportedAlgorithms().Ciphers
	first := gossh.CipherChaCha20Poly1305
	if hasAES() {
		first = gossh.CipherAES128GCM
	}
	rest := slices.DeleteFunc(all, func(c string) bool { return c == first })
	return append([]string{first}, rest...)
}

func hasAES() bool {
	switch runtime.GOARCH {
	case "amd64":
		return cpu.X86.HasAES && cpu.X86.HasPCLMULQDQ
	case "arm64":
		return cpu.ARM64.HasAES && cpu.ARM64.HasPMULL
	}
	return false
}
