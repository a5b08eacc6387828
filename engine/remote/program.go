package remote

import (
	"fmt"
	"sync"
)

// BinarySource holds the agent programs that a build brings along.
type BinarySource interface {
	// AgentBinary returns the program for an architecture in Go's words
	// (amd64, arm64).
	AgentBinary(arch string) ([]byte, error)
	// AgentGzip returns the same program as a gzip stream: what most hosts are
	// sent. They all have gzip, but not all have zstd.
	AgentGzip(arch string) ([]byte, error)
	// AgentDigest returns the hex SHA-256 of that program. It is asked for in
	// every run, the program only when a host does not have it.
	AgentDigest(arch string) (string, error)
}

// architectures are those that agents are built for.
var architectures = [...]string{"amd64", "arm64"}

// Binaries prepares the programs of a source for sending, each once and when
// it is first needed. All connections of a run share one.
type Binaries struct {
	programs map[string]func() (*program, error)
}

// NewBinaries returns the prepared programs of a source.
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

// digest returns the digest for an architecture, and "-" where there is no
// program for it: what a host of that kind then answers is clearer than an
// error before anybody knows whether there is such a host.
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
		return nil, fmt.Errorf("there is no agent for the architecture %q; there is one for %v", arch, architectures)
	}
	return get()
}

// built returns the architectures that there are programs for.
func (b *Binaries) built() []string {
	var archs []string
	for _, a := range architectures {
		if b.digest(a) != "-" {
			archs = append(archs, a)
		}
	}
	return archs
}
