package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"deployer/engine"
	"deployer/engine/session"
	"deployer/project"
	"deployer/runs/blobs"
	"deployer/runs/target"
	"deployer/tasks/stat"
)

// AdminCredentials are the CA, client certificate and key of the cluster's admin, in
// PEM. The certificate has full rights.
type AdminCredentials struct{ CA, Cert, Key []byte }

// Paths of the admin's files on every master.
const (
	adminCA   = "/etc/kubernetes/pki/ca.crt"
	adminCert = "/etc/kubernetes/pki/admin.crt"
	adminKey  = "/etc/kubernetes/pki/admin.key"
)

// ReadAdminCredentials reads the admin's files from the first master that has them.
// Their content is in no event, journal or log.
func (c Runner) ReadAdminCredentials(ctx context.Context, p *project.Project, which target.PromptFlags) (*AdminCredentials, error) {
	connector, err := c.connectorFor(p, p.Cluster.Masters, which)
	if err != nil {
		return nil, err
	}
	defer connector.Close()
	var errs []error
	for _, master := range p.Cluster.Masters {
		files, err := readFiles(ctx, connector, master, adminCA, adminCert, adminKey)
		if err == nil {
			return &AdminCredentials{files[adminCA], files[adminCert], files[adminKey]}, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", master, err))
	}
	return nil, fmt.Errorf("reading the admin certificate from the masters; is the cluster installed?\n%w", errors.Join(errs...))
}

// connectorFor returns a connector for hosts outside of a run; its events are
// discarded.
func (c Runner) connectorFor(p *project.Project, hosts []string, which target.PromptFlags) (*target.Connector, error) {
	store, err := blobs.New(p)
	if err != nil {
		return nil, err
	}
	credentials, err := target.NewCredentials(p, which, c.PromptSecret)
	if err != nil {
		return nil, err
	}
	connector, err := target.NewConnector(p, credentials, 1)
	if err != nil {
		return nil, err
	}
	if err := connector.UnlockKeys(hosts); err != nil {
		connector.Close()
		return nil, err
	}
	connector.Serve(target.AgentServices{Blobs: store, Sink: &fanout{}})
	return connector, nil
}

func readFiles(ctx context.Context, c session.Connector, host string, paths ...string) (map[string][]byte, error) {
	opened, err := c.Connect(ctx, host)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()
	args, err := json.Marshal(&stat.Read{Paths: paths})
	if err != nil {
		return nil, err
	}
	var result engine.Result
	segment := engine.Segment{Run: "read", Steps: []engine.Step{{ID: "read", Name: "read", Module: "read", Args: args, Secret: true}}}
	if err := opened.Run(ctx, segment, func(r engine.Result) { result = r }); err != nil {
		return nil, err
	}
	if result.Failure != nil {
		return nil, result.Failure
	}
	found, _ := result.Output["files"].(map[string]any)
	files := map[string][]byte{}
	for _, path := range paths {
		text, ok := found[path].(string)
		if !ok {
			return nil, fmt.Errorf("the host returned no content of %s", path)
		}
		files[path] = []byte(text)
	}
	return files, nil
}
