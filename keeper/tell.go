package keeper

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	"deployer/keeper/status"
)

// written is the status that the ConfigMap has.
type written struct {
	text string // without its time
	at   time.Time
}

const (
	// rewriteAfter is the age at which an unchanged status is written again: its time says that the
	// keeper lives.
	rewriteAfter = 2 * time.Minute
	// writeTimeout is the maximum duration of the write.
	writeTimeout = 10 * time.Second
)

// tell writes the status when it has changed or has become old. While the API does not answer, the
// journal has what would be there.
func (k *Keeper) tell(ctx context.Context, s status.Status) {
	if k.access == nil || s.Host == "" {
		return
	}
	now := s.Time
	s.Time = time.Time{}
	text, err := json.Marshal(s)
	if err != nil || string(text) == k.written.text && now.Sub(k.written.at) < rewriteAfter {
		return
	}
	s.Time = now
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := status.Write(ctx, k.access.Kube.WithRetryTimeout(-1), s); err != nil {
		k.options.Log.Warn("the status was not written", "error", err)
		return
	}
	k.written = written{string(text), now}
}

// serve serves the metrics at an address until the returned function is called.
func serve(address string, handler http.Handler) (stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serving metrics: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return func() { _ = server.Close() }, nil
}
