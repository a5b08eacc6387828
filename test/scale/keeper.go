package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/cluster"
	"deployer/engine/lang"
	"deployer/jsontypes"
	"deployer/templates"
)

const (
	keeperProcess = "deployer-keeper"
	keeperProgram = "/usr/local/bin/deployer-keeper"
	keeperConfig  = "/etc/deployer/keeper.yaml"
	keeperUser    = "deployer-keeper" // source of its events
)

// startKeepers starts the keeper of each master with the configuration and the rights that deployer gives it. Its
// root directory is that of the master, so that all paths are those of a host.
func (p *plane) startKeepers(ctx context.Context, program string) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("reading the keeper: %w; `make build` makes it", err)
	}
	if err := p.grantKeepers(ctx); err != nil {
		return err
	}
	for _, m := range p.masters {
		config, err := render("keeper", "keeper.yaml.tmpl", m.cluster, m.node.Name)
		if err != nil {
			return err
		}
		for path, file := range map[string]struct {
			content []byte
			mode    os.FileMode
		}{keeperProgram: {text, 0o755}, keeperConfig: {[]byte(config), 0o600}, "/etc/passwd": {[]byte("root:x:0:0:::\netcd:x:0:0:::\n"), 0o644}, "/etc/group": {[]byte("root:x:0:\netcd:x:0:\n"), 0o644}} {
			path = filepath.Join(m.root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, file.content, file.mode); err != nil {
				return err
			}
		}
		if err := mountProc(filepath.Join(m.root, "proc")); err != nil {
			return err
		}
		if err := m.start(keeperProcess, "chroot", m.root, keeperProgram); err != nil {
			return err
		}
	}
	return nil
}

// grantKeepers creates the rights of the components that deployer adds, those of the keeper among them.
func (p *plane) grantKeepers(ctx context.Context) error {
	text, err := render("cluster-rights", "rbac.yaml.tmpl", p.masters[0].cluster, p.masters[0].node.Name)
	if err != nil {
		return err
	}
	for objects := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o object
		if err := objects.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		path := "/apis/rbac.authorization.k8s.io/v1"
		if in, ok := o["metadata"].(object)["namespace"].(string); ok {
			path += "/namespaces/" + in
		}
		path += "/" + strings.ToLower(o["kind"].(string)) + "s"
		if err := p.api().Do(ctx, http.MethodPost, path, o, nil); err != nil {
			return err
		}
	}
}

// render renders a template of a role for a host, as deployer does.
func render(role, name string, c *cluster.Cluster, host string) (string, error) {
	files := lang.NewFiles("role "+role, "", nil, lang.SearchDir{Tree: lang.Tree{Name: "templates", FS: templates.FS}, Dir: role, Templates: true})
	tpl, err := files.Template(name)
	if err != nil {
		return "", err
	}
	wide, err := jsontypes.FromGo(c)
	if err != nil {
		return "", err
	}
	node, err := jsontypes.FromGo(c.Nodes[host])
	if err != nil {
		return "", err
	}
	return tpl.Content(map[string]any{"cluster": wide, "host": node, "facts": map[string]any{"addresses": []any{}}})
}

// leadingKeeper returns the master whose keeper leads; nil while none does.
func (p *plane) leadingKeeper(ctx context.Context) *master {
	var lease struct {
		Spec struct {
			HolderIdentity string `json:"holderIdentity"`
		} `json:"spec"`
	}
	if err := p.api().Do(ctx, http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/deployer-keeper", nil, &lease); err != nil {
		return nil
	}
	for _, m := range p.masters {
		if m.node.Name == lease.Spec.HolderIdentity {
			return m
		}
	}
	return nil
}

// keeperStatus is what the keeper of a master says of itself in the ConfigMap.
type keeperStatus struct {
	Nodes    int `json:"nodes"`
	Problems []struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
	} `json:"problems"`
}

func (p *plane) keeperStatus(ctx context.Context, m *master) (keeperStatus, error) {
	var status keeperStatus
	var config struct {
		Data map[string]string `json:"data"`
	}
	if err := p.api().Do(ctx, http.MethodGet, "/api/v1/namespaces/kube-system/configmaps/deployer-keeper", nil, &config); err != nil {
		return status, err
	}
	text := config.Data[m.node.Name]
	if text == "" {
		return status, fmt.Errorf("the keeper of %s has no status", m.node.Name)
	}
	return status, json.Unmarshal([]byte(text), &status)
}

// keeperCalls returns the number of requests that a keeper has sent to its API server, by its metrics.
func keeperCalls(ctx context.Context, m *master) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:%d/metrics", m.node.IP, keeperPort), nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return sumMetric(resp.Body, "deployer_keeper_api_requests_total")
}

// keeperEvent is an event of an action of a keeper.
type keeperEvent struct {
	Type           string `json:"type"`
	Reason         string `json:"reason"`
	Message        string `json:"message"`
	InvolvedObject struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
		UID  string `json:"uid"`
	} `json:"involvedObject"`
}

func (p *plane) keeperEvents(ctx context.Context) ([]keeperEvent, error) {
	var list struct {
		Items []keeperEvent `json:"items"`
	}
	err := p.api().Do(ctx, http.MethodGet, "/api/v1/events?fieldSelector=source%3D"+keeperUser, nil, &list)
	return list.Items, err
}
