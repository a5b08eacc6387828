package kube

import (
	"context"
	"fmt"
	"strings"
	"time"

	"deployer/engine"
	"deployer/shortlist"
	"deployer/tasks/poll"
)

// APIReady is the action `kube_ready`: a gate that opens when the API server of one
// master, queried directly, is ready.
type APIReady struct {
	Host    string        `yaml:"host" rule:"word" doc:"Master whose API server is queried; default: the host."`
	Timeout time.Duration `yaml:"timeout" range:"0s.." doc:"Maximum wait; default 2m."`
}

// NewAPIReady returns the action with its defaults.
func NewAPIReady() *APIReady { return &APIReady{Timeout: 2 * time.Minute} }

// Check waits until the API server is ready. In a dry run it sends one query, and an
// API server that is not ready is no error.
func (a *APIReady) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	host := a.Host
	if host == "" {
		host = actx.Host()
	}
	access, err := open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	client, err := access.On(host)
	if err != nil {
		return engine.Change{}, err
	}
	if actx.CheckOnly() {
		detail, ready := client.Readyz(ctx)
		return engine.NoChange(engine.Output{"ready": ready, "detail": detail}), nil
	}
	if err := WaitAPI(ctx, client, a.Timeout, actx.Progress); err != nil {
		return engine.Change{}, err
	}
	return engine.NoChange(engine.Output{"ready": true}), nil
}

// Apply does nothing: Check never returns a needed change.
func (a *APIReady) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// WaitAPI waits until /readyz returns 200. On timeout the error names the failing
// checks of the server's last response.
func WaitAPI(ctx context.Context, c *Client, timeout time.Duration, progress func(string)) error {
	last := ""
	err := poll.Until(ctx, timeout, 250*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		state, ok := c.Readyz(ctx)
		if state != last && !ok {
			last = state
			progress("waiting: " + state)
		}
		return state, ok, nil
	})
	if err != nil {
		return fmt.Errorf("the API server is not ready: %w", err)
	}
	return nil
}

// readyTimeout is the maximum time of one query of /readyz. It suffices for one
// master that accepts no connection and a second one that does.
const readyTimeout = 2 * dialTimeout

// maxReadyQueries is the maximum number of API servers that [Client.FindReady]
// queries. Clusters with more than five masters are rare.
const maxReadyQueries = 5

// FindReady switches the client to an API server that is ready. FindReady returns the state
// of the last server that it queried, and whether that server is ready.
func (c *Client) FindReady(ctx context.Context) (string, bool) {
	for n := 1; ; n++ {
		state, ok := c.Readyz(ctx)
		if ok || n == maxReadyQueries || c.switchServer == nil || ctx.Err() != nil {
			return state, ok
		}
		c.switchServer()
	}
}

// Readyz queries /readyz once and returns the state as text, with the failing checks
// of a server that is not ready. Readyz takes at most readyTimeout.
func (c *Client) Readyz(ctx context.Context) (string, bool) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	status, body, err := c.Raw(ctx, "GET", "/readyz?verbose", nil)
	switch {
	case err != nil:
		return err.Error(), false
	case status == 200:
		return "ready", true
	}
	var failing []string
	for line := range strings.Lines(string(body)) {
		if text, bad := strings.CutPrefix(strings.TrimSpace(line), "[-]"); bad {
			failing = append(failing, strings.TrimSuffix(text, " failed: reason withheld"))
		}
	}
	return fmt.Sprintf("/readyz returns %d, failing checks: %s", status, shortlist.Names(failing, 3)), false
}

// Gate returns the action itself: a revert repeats the same wait.
func (a *APIReady) Gate() any { return a }
