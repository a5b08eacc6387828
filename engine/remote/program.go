package remote

import (
	"fmt"
	"sync"
)

// BinarySource holds the agent programs of a build.
type BinarySource interface {
	// AgentBinary returns the program for an architecture by Go's name (amd64, arm64).
	AgentBinary(arch string) ([]byte, error)
	// AgentGzip returns the same program as a gzip stream, the form for most hosts: all
	// have gzip, not all have zstd.
	AgentGzip(arch string) ([]byte, error)
	// AgentDigest returns the hex SHA-256 of the same program. Every run calls it; the
	// program is loaded only when a host does not have it.
	AgentDigest(arch string) (string, error)
}

// architectures lists the architectures of agents.
var architectures = [...]string{"amd64", "arm64"}

// Binaries loads the programs of a source, each once and when it is first needed.
// All connections of a run share one Binaries.
type Binaries struct {
	programs map[string]func() (*program, error)
}

// NewBinaries returns the programs of a source.
func NewBinaries(source BinarySource) *Binaries {
	b := &Binaries{programs: map[string]func() (*program, error){}}
	for _, arch := range architectures {
		b.programs[arch] = sync.OnceValues(func() (*program, error) { return newProgram(source, arch) })
	}
	return b
}

// program is the agent for one architecture.
type program struct {
	digest  string // hex SHA-256
	plain   func() ([]byte, error)
	gzipped func() ([]byte, error)
}

func newProgram(source BinarySource, arch string) (*program, error) {
	digest, err := source.AgentDigest(arch)
	if err != nil {
		return nil, fmt.Errorf("agent for %s: %w", arch, err)
	}
	p := &program{digest: digest}
	p.plain = sync.OnceValues(func() ([]byte, error) { return source.AgentBinary(arch) })
	p.gzipped = sync.OnceValues(func() ([]byte, error) { return source.AgentGzip(arch) })
	return p, nil
}

// digest returns the digest for an architecture, and "-" where there is no program:
// the probe's answer on such a host is clearer than an error before any host is
// known to need the program.
func (b *Binaries) digest(arch string) string {
	p, err := b.programs[arch]()
	if err != nil {
		return "-"
	}
	return p.digest
}

func (b *Binaries) program(arch string) (*program, error) {
	get := b.programs[arch]
	if get == nil {
		return nil, fmt.Errorf("there is no agent for architecture %q, only for %v", arch, architectures)
	}
	return get()
}

// built returns the architectures for which there are programs.
func (b *Binaries) built() []string {
	var archs []string
	for _, a := range architectures {
		if b.digest(a) != "-" {
			archs = append(archs, a)
		}
	}
	return archs
}
