package agents

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// maxPacked is the maximum size of an agent as sent (gzip), in bytes. Each new host
// receives it once, and every deployer contains one for each architecture. 5 MB take 0.4
// s at 100 Mbit/s; docs/decisions/2026-11-22-godbus.md has the current sizes.
const maxPacked = 5_000_000

func TestEmbedded(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		f, err := packed("agent", arch)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.2f MB", arch, float64(len(f))/1e6)
		if len(f) > maxPacked {
			t.Errorf("the agent for %s has %d bytes, allowed are %d: look for what has made it grow with "+
				"`go list -deps ./cmd/deployer-agent` and `go tool nm -size -sort size`", arch, len(f), maxPacked)
		}
		program, err := Embedded{}.AgentBinary(arch)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(program)
		if digest, err := (Embedded{}).AgentDigest(arch); err != nil || digest != hex.EncodeToString(sum[:]) {
			t.Errorf("digest of the agent for %s is %s, %v; its content has %x", arch, digest, err, sum)
		}
	}
}

func TestNoSuchAgent(t *testing.T) {
	const want = "this deployer carries no agent for linux/mips; build it with make build"
	if _, err := (Embedded{}).AgentBinary("mips"); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if _, err := (Embedded{}).AgentDigest("mips"); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}
