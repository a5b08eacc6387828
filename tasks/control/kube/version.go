package kube

import (
	"context"
	"encoding/json"
	"fmt"

	"deployer/engine"
)

// Version is the action `kube_version`: its output, for `register`, is the version of
// the API servers. When no API server responds, reachable is false and the action does
// not fail.
type Version struct{}

// ReadOnly returns true: the action changes nothing.
func (Version) ReadOnly() bool { return true }

// Check reads the version once.
func (Version) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	client, err := Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	version, err := ServerVersion(ctx, client)
	out := engine.Output{"reachable": err == nil, "version": version}
	if err != nil {
		out["reason"] = err.Error()
	}
	return engine.NoChange(out), nil
}

// Apply does nothing: Check never returns a needed change.
func (Version) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// ServerVersion returns the version of the API server, such as v1.36.3.
func ServerVersion(ctx context.Context, c *Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	status, body, err := c.Raw(ctx, "GET", "/version", nil)
	if err != nil {
		return "", err
	}
	var v struct{ GitVersion string }
	if err := json.Unmarshal(body, &v); err != nil || status != 200 {
		return "", fmt.Errorf("/version returns HTTP status %d", status)
	}
	return v.GitVersion, nil
}
