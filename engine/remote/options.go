package remote

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"deployer/engine"
	"deployer/engine/protocol"
)

// Options configure a session.
type Options struct {
	// Host is the host's name in the inventory, for events, errors and calls.
	Host string
	// Binaries are the agent programs; Connect requires them.
	Binaries *Binaries
	// Blobs holds the blobs that the host may request; nil means none.
	Blobs Blobs
	// Peers plans which host receives a blob from which other host; nil has the controller
	// send all blobs.
	Peers Peers
	// Calls are the handlers of calls, by method.
	Calls map[string]CallFunc
	// Sink takes host.up, step.start, step.text and transfer; nil drops them.
	Sink engine.Sink
	// Become is the method by which the login user becomes root, unless it is root
	// already; none when empty.
	Become Become
	// Password is the password for Become; empty when there is none. Password is sent at most
	// once a connection, at the prompt.
	Password string
	// Dir is a directory on the host for the agent and its state, tried before the
	// defaults: /var/lib/deployer, .deployer in root's home and /run/deployer for root;
	// directories below /var/tmp, $HOME and /dev/shm for other users. For root, a
	// directory below one that others may write to is refused.
	Dir string
	// Timeout bounds each of these without progress: the probe, the start of the agent,
	// its transfer. DefaultTimeout when 0.
	Timeout time.Duration
	// Heartbeat and IdleTimeout are the arguments of protocol.Conn.RunHeartbeat;
	// protocol.DefaultHeartbeat and protocol.DefaultIdleTimeout when 0.
	Heartbeat, IdleTimeout time.Duration
}

// Blobs holds content by digest.
type Blobs interface {
	// Open returns the zstd stream of the blob whose plain content has the given hex
	// SHA-256, and the plain size in bytes. If the stream has a method Size() int64,
	// or Stat as files have, progress is reported against the length of the stream.
	Open(digest string) (stream io.ReadCloser, rawSize int64, err error)
}

// CallFunc answers a call of a module on a host. The reply is sent as JSON.
type CallFunc = func(ctx context.Context, host string, in json.RawMessage) (any, error)

// DefaultTimeout is the default of Options.Timeout: a loaded host may take many
// seconds to start a shell.
const DefaultTimeout = 30 * time.Second

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = protocol.DefaultHeartbeat
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = protocol.DefaultIdleTimeout
	}
	if o.Sink == nil {
		o.Sink = discardSink{}
	}
	return o
}

// discardSink drops events.
type discardSink struct{}

func (discardSink) Emit(engine.Event) {}
