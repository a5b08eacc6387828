package agent

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	gossh "golang.org/x/crypto/ssh"

	"deployer/engine"
)

// TestMain lets the test binary be the agent program of its own tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "serve" || os.Args[1] == "digest") {
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, testRegistry()))
	}
	os.Exit(m.Run())
}

// ownBinary is the test binary as an agent program, for this architecture.
type ownBinary struct{ arch string }

func (o ownBinary) AgentBinary(arch string) ([]byte, error) {
	if arch != o.arch {
		return nil, errors.New("not built")
	}
	return os.ReadFile("/proc/self/exe")
}

func (o ownBinary) AgentDigest(arch string) (string, error) {
	data, err := o.AgentBinary(arch)
	return digestOf(data), err
}

// ownBinaries prepares the test binary once: it is large.
var ownBinaries = sync.OnceValue(func() *Binaries { return NewBinaries(ownBinary{runtime.GOARCH}) })

func testRegistry() engine.Registry {
	return engine.NewRegistry([]engine.Kind{
		{Name: "write", New: func() any { return new(write) }},
		{Name: "odd", New: func() any { return new(odd) }},
		{Name: "append", New: func() any { return new(appendOnce) }},
		{Name: "gate", New: func() any { return new(gate) }},
		{Name: "sh", New: func() any { return new(shArgs) }},
		{Name: "fetch", New: func() any { return new(fetch) }},
		{Name: "foresee", New: func() any { return new(foresee) }},
		{Name: "alter", New: func() any { return new(alter) }, Restorer: knobs},
		{Name: "postpone", New: func() any { return new(postpone) }, Postponed: postponed},
	})
}

// write is a small module of the usual kind: a file with a content.
type write struct {
	Path    string
	Content string
}

func (w *write) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	have, err := os.ReadFile(sys.Path(w.Path))
	if err == nil && string(have) == w.Content {
		return engine.NoChange(engine.Output{"size": len(have)}), nil
	}
	return engine.Changed(engine.Effect{Kind: engine.EffectFile, Target: w.Path, Action: "replace", Diff: "-" + string(have) + "\n+" + w.Content}), nil
}

func (w *write) Apply(_ context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	if err := sys.Keep(w.Path); err != nil {
		return nil, err
	}
	return engine.Output{"size": len(w.Content), "run": sys.RunID()}, os.WriteFile(sys.Path(w.Path), []byte(w.Content), 0o644)
}

// appendOnce shows when it is applied twice.
type appendOnce struct{ Path string }

func (a *appendOnce) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if _, err := os.Stat(sys.Path(a.Path)); err == nil {
		return engine.NoChange(nil), nil
	}
	return engine.Changed(), nil
}

func (a *appendOnce) Apply(_ context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	f, err := os.OpenFile(sys.Path(a.Path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString("x")
	return nil, errors.Join(err, f.Close())
}

// gate waits, for ever unless it is open, and changes nothing.
type gate struct{ Open bool }

func (*gate) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Change{Needed: true, Wait: true}, nil
}

func (g *gate) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	if g.Open {
		return nil, nil
	}
	sys.Progress("waiting")
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// odd does what the test asks for.
type odd struct {
	Do   string
	Text string
	For  time.Duration
}

func (o *odd) Check(context.Context, engine.System) (engine.Change, error) {
	if o.Do == "fail-check" {
		return engine.Change{}, errors.New(o.Text)
	}
	return engine.Changed(engine.Effect{Kind: engine.EffectCommand, Target: o.Do, Action: "do"}), nil
}

func (o *odd) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	switch o.Do {
	case "nothing":
		return nil, nil
	case "fail":
		return nil, &engine.Failure{Message: o.Text, Detail: "the detail"}
	case "panic":
		panic(o.Text)
	case "say":
		sys.Progress(o.Text)
		return engine.Output{"text": o.Text, "list": []string{o.Text}}, nil
	case "huge":
		return engine.Output{"text": string(make([]byte, maxOutput+1))}, nil
	case "count-to-fail": // fails until the file has three bytes
		f, err := os.OpenFile(sys.Path(o.Text), os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		_, _ = f.WriteString("x")
		if info, _ := f.Stat(); info.Size() < 3 {
			return nil, fmt.Errorf("only %d", info.Size())
		}
		return nil, nil
	case "wait": // until cancelled, or for a time
		sys.Progress("waiting")
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(o.For):
			return engine.Output{"waited": true}, os.WriteFile(sys.Path(o.Text), []byte("done"), 0o600)
		}
	case "run":
		r, err := sys.Run(ctx, engine.Command{Argv: []string{"/bin/sh", "-c", o.Text}})
		return engine.Output{"exit": r.Exit, "stdout": r.Stdout, "stderr": r.Stderr}, err
	case "call":
		var out any
		err := sys.Call(ctx, o.Text, map[string]string{"ask": "me"}, &out)
		return engine.Output{"answer": out}, err
	}
	return nil, fmt.Errorf("cannot do %q", o.Do)
}

// foresee wants to change something when its path would be changed before it.
type foresee struct{ Path string }

func (f *foresee) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if sys.(engine.Foresight).WouldChange(f.Path) {
		return engine.Changed(), nil
	}
	return engine.NoChange(nil), nil
}

func (*foresee) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

// fetch reads a blob, all of it or only its beginning.
type fetch struct {
	Digest string
	Path   string
	Only   int64
}

func (f *fetch) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Changed(), nil
}

func (f *fetch) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	blob, err := sys.Blob(ctx, f.Digest)
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	if f.Only > 0 {
		n, err := io.CopyN(io.Discard, blob, f.Only)
		return engine.Output{"read": n}, err
	}
	if f.Path == "" {
		n, err := io.Copy(io.Discard, blob)
		return engine.Output{"read": n}, err
	}
	out, err := os.Create(sys.Path(f.Path))
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(out, blob)
	return engine.Output{"read": n}, errors.Join(err, out.Close())
}

// memory holds blobs in memory.
type memory struct {
	mu    sync.Mutex
	blobs map[string][]byte // zstd streams
	sizes map[string]int64
	opens int
}

func (m *memory) add(t testing.TB, data []byte) string {
	t.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blobs == nil {
		m.blobs, m.sizes = map[string][]byte{}, map[string]int64{}
	}
	digest := digestOf(data)
	m.blobs[digest], m.sizes[digest] = enc.EncodeAll(data, nil), int64(len(data))
	return digest
}

func (m *memory) Open(digest string) (io.ReadCloser, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opens++
	b, ok := m.blobs[digest]
	if !ok {
		return nil, 0, fmt.Errorf("there is no blob %.12s", digest)
	}
	return &sized{data: b}, m.sizes[digest], nil
}

type sized struct {
	data []byte
	pos  int
}

func (s *sized) Read(p []byte) (int, error) {
	if s.pos == len(s.data) {
		return 0, io.EOF
	}
	n := copy(p, s.data[s.pos:])
	s.pos += n
	return n, nil
}
func (s *sized) Size() int64  { return int64(len(s.data)) }
func (s *sized) Close() error { return nil }

// events records what a session emits.
type events struct {
	mu   sync.Mutex
	list []engine.Event
	seen chan engine.Event // also gets each event when not nil
}

func (e *events) Emit(ev engine.Event) {
	e.mu.Lock()
	e.list = append(e.list, ev)
	e.mu.Unlock()
	if e.seen != nil {
		e.seen <- ev
	}
}

// of returns the events of some types, in order.
func (e *events) of(kinds ...engine.EventType) []engine.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []engine.Event
	for _, ev := range e.list {
		if slices.Contains(kinds, ev.Type) {
			out = append(out, ev)
		}
	}
	return out
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

func args(t testing.TB, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
