package remote

import (
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"testing"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine"
	"deployer/engine/agent"
	"deployer/engine/agent/agenttest"
	"deployer/tasks/command"
)

// TestMain makes the test binary the agent program of its own tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "serve" || os.Args[1] == "digest") {
		os.Exit(agent.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, testRegistry()))
	}
	os.Exit(m.Run())
}

// ownBinary is the source of the test binary as an agent program for this
// architecture.
type ownBinary struct{ arch string }

func (o ownBinary) AgentBinary(arch string) ([]byte, error) {
	if arch != o.arch {
		return nil, errors.New("not built")
	}
	return os.ReadFile("/proc/self/exe")
}

func (o ownBinary) AgentGzip(arch string) ([]byte, error) {
	data, err := o.AgentBinary(arch)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

func (o ownBinary) AgentDigest(arch string) (string, error) {
	data, err := o.AgentBinary(arch)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

// ownBinaries prepares the test binary once: it is large.
var ownBinaries = sync.OnceValue(func() *Binaries { return NewBinaries(ownBinary{runtime.GOARCH}) })

func testRegistry() engine.Registry {
	return engine.NewRegistry([]engine.Kind{
		{Name: "write", New: func() any { return new(agenttest.Write) }},
		{Name: "odd", New: func() any { return new(agenttest.Odd) }},
		{Name: "fetch", New: func() any { return new(agenttest.Fetch) }},
		{Name: "command", New: func() any { return new(command.Command) }},
	})
}

func writeKey(t testing.TB, path string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := gossh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
}

func splitPort(t testing.TB, addr string) (string, int) {
	t.Helper()
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return a.Addr().String(), int(a.Port())
}
