package kube

import (
	"context"
	"encoding/json"
	"fmt"

	"deployer/engine"
)

// Version is the action `kube_version`: which version the API servers run, for
// `register`. When none answers, reachable is false; that is no failure.
type Version struct{}

// ReadOnly is true.
func (Version) ReadOnly() bool { return true }

// Check asks once.
func (Version) Check(ctx context.Context, site engine.ActionContext) (engine.Change, error) {
	client, err := Open(ctx, site)
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

// Apply is never needed.
func (Version) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// ServerVersion asks the API server for its version, such as v1.36.3.
func ServerVersion(ctx context.Context, c *Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	status, body, err := c.Raw(ctx, "GET", "/version", nil)
	if err != nil {
		return "", err
	}
	var v struct{ GitVersion string }
	if err := json.Unmarshal(body, &v); err != nil || status != 200 {
		return "", fmt.Errorf("/version answers %d", status)
	}
	return v.GitVersion, nil
}
