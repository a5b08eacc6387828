// Package agents holds the agent binaries that deployer carries to its hosts.
// They are built by `make build`; a deployer that was built without make has
// none and says so when it would need one.
package agents

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/klauspost/compress/zstd"
)

//go:embed *
var files embed.FS

// Embedded gives out the agents inside this binary.
type Embedded struct{}

// AgentBinary returns the agent for an architecture in Go's naming (amd64,
// arm64).
func (Embedded) AgentBinary(arch string) ([]byte, error) {
	name := "deployer-agent-linux-" + arch + ".zst"
	packed, err := files.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("this deployer carries no agent for linux/%s; build it with `make build`", arch)
	}
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	plain, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("unpacking the agent for linux/%s: %w", arch, err)
	}
	return plain, nil
}
