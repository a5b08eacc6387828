//go:build lab

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"deployer/cmd/deployer/agents"
	"deployer/cmd/deployer/agents/packing"
	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/remote"
	"deployer/engine/transport/local"
)

// emulator runs programs for arm64 on this machine (Debian: qemu-user-static).
const emulator = "qemu-aarch64-static"

// TestArm64 runs the agent for arm64 on a host that reports arm64: the probe selects it,
// and it executes steps.
func TestArm64(t *testing.T) {
	qemu, err := exec.LookPath(emulator)
	if err != nil {
		t.Fatalf("%v: run `make packages` first", err)
	}
	content, err := agents.Embedded{}.AgentBinary("arm64")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "agent-arm64")
	if err := os.WriteFile(program, content, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), qemu, program, "digest", program).Output()
	if sum := sha256.Sum256(content); err != nil || strings.TrimSpace(string(out)) != hex.EncodeToString(sum[:]) {
		t.Fatalf("digest: %q, %v", out, err)
	}
	// This uname makes the host report an arm64 processor.
	if err := os.WriteFile(filepath.Join(dir, "uname"), []byte("#!/bin/sh\necho Linux aarch64\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	s, err := remote.Connect(t.Context(), local.New("arm"), remote.Options{Host: "arm", Dir: filepath.Join(dir, "state"),
		Binaries: remote.NewBinaries(qemuBinaries{qemu, program})})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if arch := s.Facts().Arch; arch != "arm64" {
		t.Fatalf("the agent says that it is for %s", arch)
	}
	file := filepath.Join(dir, "file")
	for i, want := range []engine.Status{engine.StatusChanged, engine.StatusOK} {
		result := runStep(t, s, i, "file", map[string]any{"Path": file, "Content": "hello", "Mode": "0640"})
		if result.Status != want {
			t.Fatalf("%+v", result)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "hello" {
		t.Fatalf("%q, %v", got, err)
	}
	if got := shell(t, s, "echo from a program"); got != "from a program" {
		t.Fatalf("%q", got)
	}
}

func runStep(t *testing.T, s *remote.Session, i int, module string, args map[string]any) engine.Result {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	result, err := agenttest.RunOne(t.Context(), s, "e2e", engine.Step{ID: fmt.Sprint(i), Name: module, Module: module, Args: raw}, false)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// qemuBinaries supplies, as the agent for arm64, a script that starts the real agent
// in the emulator.
type qemuBinaries struct{ qemu, program string }

func (l qemuBinaries) AgentBinary(arch string) ([]byte, error) {
	if arch != "arm64" {
		return nil, fmt.Errorf("there is none for %s", arch)
	}
	return fmt.Appendf(nil, "#!/bin/sh\nexec %s %s \"$@\"\n", l.qemu, l.program), nil
}

func (l qemuBinaries) AgentGzip(arch string) ([]byte, error) {
	content, err := l.AgentBinary(arch)
	if err != nil {
		return nil, err
	}
	return packing.Pack(content)
}

func (l qemuBinaries) AgentDigest(arch string) (string, error) {
	content, err := l.AgentBinary(arch)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), err
}
