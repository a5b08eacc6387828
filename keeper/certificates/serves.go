package certificates

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"time"

	"deployer/engine"
	"deployer/tasks/handshake"
	"deployer/tasks/hostfile"
	"deployer/tasks/poll"
)

const (
	// ServedTimeout is the maximum wait until a server has read its files; API servers and kubelets read
	// theirs once a minute.
	ServedTimeout = 5 * time.Minute
	// PollEvery is the time between two looks at what is waited for.
	PollEvery = time.Second
)

// Dial opens a connection.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Serves waits until an address serves the certificate of a file.
func Serves(ctx context.Context, sys engine.System, dial Dial, address, path string, timeout time.Duration) error {
	return Wait(ctx, timeout, fmt.Sprintf("%s serves the certificate %s", address, path), func(ctx context.Context) (string, bool) {
		text, err := hostfile.ReadFile(sys, path)
		if err != nil {
			return err.Error(), false
		}
		got, err := handshake.Certificate(ctx, dial, address)
		if err != nil {
			return err.Error(), false
		}
		block, _ := pem.Decode(text)
		if block == nil || !bytes.Equal(block.Bytes, got.Raw) {
			return "it serves another certificate", false
		}
		return "", true
	})
}

// Wait waits until something is so; done returns what is so instead.
func Wait(ctx context.Context, timeout time.Duration, what string, done func(context.Context) (string, bool)) error {
	err := poll.Until(ctx, timeout, PollEvery, func(ctx context.Context) (string, bool, error) {
		text, ok := done(ctx)
		return text, ok, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until %s: %w", what, err)
	}
	return nil
}
