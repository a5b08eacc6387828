package remote

import (
	"errors"
	"io"

	"deployer/engine/transport"
)

// openOver opens a session over the streams of an agent, without a transport. It closes rw
// with the session, and when it fails.
func openOver(rw io.ReadWriteCloser, opts Options) (*Session, error) {
	opts = opts.withDefaults()
	s, err := open(rw, rw, opts, transportHooks{close: rw.Close, explainEnd: func() error { return errors.New("the agent has closed the connection") }})
	if err != nil {
		_ = rw.Close()
		return nil, transport.Classify(opts.Host, transport.StageAgent, err, transport.Config)
	}
	return s, nil
}
