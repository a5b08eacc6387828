package maintenance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"deployer/keeper/maintenance/profile"
	"deployer/keeper/maintenance/replace"
)

// machines is a hook that replaces machines: each comes back as a node with the API server's version, four minutes
// after its Node was deleted.
type machines struct {
	k       *cluster
	back    map[string]time.Time
	started []string
	missing int // most nodes that were away or cordoned at once
}

// ServeHTTP implements http.Handler.
func (m *machines) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var body struct{ Node string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		m.k.t.Error(err)
	}
	m.back[body.Node] = m.k.now.Add(4 * time.Minute)
	m.started = append(m.started, fmt.Sprintf("%s at %s", body.Node, m.k.now.Format("15:04")))
}

func (m *machines) step(nodes []string) {
	away := 0
	for _, name := range nodes {
		exists := m.k.api.Object("/api/v1/nodes/"+name) != nil
		if at, ok := m.back[name]; ok && !exists && !m.k.now.Before(at) {
			delete(m.back, name)
			m.k.addNode(name, profile.ProfileLabel, "flatcar--kubelet") // v1.36.3
			exists = true
		}
		if !exists || m.k.cordoned(name) {
			away++
		}
	}
	m.missing = max(m.missing, away)
}

func TestPublishedExampleReplacesOutdatedNodes(t *testing.T) {
	text, err := os.ReadFile("profile/testdata/flatcar-kubelet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	k := newCluster(t, string(text), nil)
	slack := &slackAPI{}
	k.c.HTTP = &http.Client{Transport: slack}
	m := &machines{k: k, back: map[string]time.Time{}}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	config, err := replace.Load(fmt.Appendf(nil, "intervals: {requeue: 30s}\nreplace: {http: {url: %q}}\n", server.URL), "kubernikus.yaml", os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	r := &replace.Controller{Client: k.c.Client, Config: config, Now: k.c.Now}
	nodes := []string{"n1", "n2", "n3"}
	for _, name := range nodes {
		k.addNode(name, profile.ProfileLabel, "flatcar--kubelet")
		object := k.api.Object("/api/v1/nodes/" + name)
		object["status"].(map[string]any)["nodeInfo"] = map[string]any{"kubeletVersion": "v1.35.4"}
		k.api.Put("/api/v1/nodes/"+name, object)
	}
	for range 60 {
		if err := r.Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		k.passes(1)
		m.step(nodes)
	}
	if len(m.started) != 3 || m.missing != 1 {
		t.Errorf("replaced %q, at most %d at once", m.started, m.missing)
	}
	if want := []string{"n1 at 12:02", "n2 at 12:13", "n3 at 12:24"}; !slices.Equal(m.started, want) {
		t.Errorf("replaced %q, want %q: 10m apart", m.started, want)
	}
	for _, name := range nodes {
		if labels := k.meta(name, "labels"); labels[replace.UpdateLabel] != "false" || labels[replace.DeleteLabel] != nil || k.state(name, "kubelet") != profile.Operational {
			t.Errorf("%s: %v, kubelet %s", name, labels, k.state(name, "kubelet"))
		}
	}
}
