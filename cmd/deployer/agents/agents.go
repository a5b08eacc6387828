// Package agents holds the programs that deployer sends to hosts: the agents, and the keepers
// of masters. `make build` builds the binaries; a deployer that was built without make has
// none and fails with an error when it needs one.
package agents

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"deployer/cmd/deployer/agents/packing"
)

// A pattern must match something: this file, when there are no agents.
//
//go:embed *.g[oz]
var files embed.FS

// Embedded is the source of the agents inside this binary.
type Embedded struct{}

// AgentBinary returns the agent for an architecture in Go's naming (amd64,
// arm64).
func (Embedded) AgentBinary(arch string) ([]byte, error) {
	f, err := packed("agent", arch)
	if err != nil {
		return nil, err
	}
	plain, err := f.Program()
	if err != nil {
		return nil, fmt.Errorf("unpacking the agent for linux/%s: %w", arch, err)
	}
	return plain, nil
}

// AgentGzip returns the same agent as a gzip stream, in the form of this binary.
func (Embedded) AgentGzip(arch string) ([]byte, error) { return packed("agent", arch) }

// AgentDigest returns the hex SHA-256 of the agent for an architecture, without
// unpacking it.
func (Embedded) AgentDigest(arch string) (string, error) {
	f, err := packed("agent", arch)
	if err != nil {
		return "", err
	}
	digest, err := f.Digest()
	if err != nil {
		return "", fmt.Errorf("the agent for linux/%s: %w", arch, err)
	}
	return digest, nil
}

// KeeperBinary returns the keeper for an architecture in Go's naming.
func (Embedded) KeeperBinary(arch string) ([]byte, error) {
	f, err := packedKeeper(arch)
	if err != nil {
		return nil, err
	}
	plain, err := f.Program()
	if err != nil {
		return nil, fmt.Errorf("unpacking the keeper for linux/%s: %w", arch, err)
	}
	return plain, nil
}

// CarriesKeeper returns an error when this binary has no keeper for an architecture.
func (Embedded) CarriesKeeper(arch string) error {
	_, err := packedKeeper(arch)
	return err
}

func packedKeeper(arch string) (packing.File, error) {
	f, err := packed("keeper", arch)
	if err != nil {
		return nil, fmt.Errorf("%w KEEPER_ARCH=%s", err, arch)
	}
	return f, nil
}

// packed returns a program, which is an agent or a keeper.
func packed(program, arch string) (packing.File, error) {
	f, err := files.ReadFile("deployer-" + program + "-linux-" + arch + ".gz")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("this deployer carries no %s for linux/%s; build it with make build", program, arch)
	}
	return packing.File(f), err
}
