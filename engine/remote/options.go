package remote

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"deployer/engine"
	"deployer/engine/wire"
)

// Options are what a session needs of the controller.
type Options struct {
	// Host is the host's name in the inventory. Events, errors and calls carry
	// it; the host itself is never asked for it.
	Host string
	// Binaries are the agent programs. Connect needs them.
	Binaries *Binaries
	// Blobs are what the host may ask for; nil means none.
	Blobs Blobs
	// Calls answer the calls of modules, by method.
	Calls map[string]CallFunc
	// Sink takes host.up, step.start, step.text and transfer; nil drops them.
	Sink engine.Sink
	// Become is how the login user becomes root, unless it is root already; it
	// stays who it is when empty.
	Become Become
	// Password is what becoming root may ask for; empty when there is none. It
	// is given once for a connection, and only when it is asked for.
	Password string
	// Dir is a directory on the host that is tried before the usual ones, for
	// the agent and its state. The usual ones for root are /var/lib/deployer,
	// .deployer in root's home and /run/deployer; for others some below /var/tmp,
	// $HOME and /dev/shm. Root's is refused below what others may write to.
	Dir string
	// Timeout bounds the probe, and the start of the agent; not its sending.
	// 30 s when 0: a loaded host may take a while to run a shell.
	Timeout time.Duration
	// Heartbeat and Silence are those of wire.Conn.Pulse, the defaults there when 0.
	Heartbeat, IdleTimeout time.Duration
}

// Blobs holds content by digest.
type Blobs interface {
	// Open returns the zstd stream of the blob whose plain content has the
	// given hex SHA-256, and the plain size in bytes. If the stream has a
	// method Size() int64 or Stat, as files do, progress is reported against
	// the length of the stream.
	Open(digest string) (stream io.ReadCloser, rawSize int64, err error)
}

// CallFunc answers a call of a module on a host. The answer travels as JSON.
type CallFunc = func(ctx context.Context, host string, in json.RawMessage) (any, error)

// DefaultTimeout is the default of Options.Timeout.
const DefaultTimeout = 30 * time.Second

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = wire.DefaultHeartbeat
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = wire.DefaultIdleTimeout
	}
	if o.Sink == nil {
		o.Sink = discardSink{}
	}
	return o
}

type discardSink struct{}

func (discardSink) Emit(engine.Event) {}
