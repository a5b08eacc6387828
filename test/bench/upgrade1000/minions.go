package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"deployer/test/fleet"
)

// The content of the file that the run changes.
const (
	oldVersion = "v1.35.4"
	newVersion = "v1.36.3"
)

// restartTime is the time after a change in which a host is not healthy, as while a kubelet
// starts.
const restartTime = time.Second

// minions are the hosts of the nodes, and the health of their kubelets.
type minions struct {
	hosts   map[string]*fleet.Host
	failing map[string]bool // hosts that are not healthy with the new version
	server  *http.Server
	url     string
}

// chooseFailing returns the names of the minions that the change breaks: one in a
// hundred, at least one, at random.
func (o options) chooseFailing() map[string]bool {
	random := rand.New(rand.NewPCG(o.seed, 0))
	failing := map[string]bool{}
	for len(failing) < max(o.nodes/100, 1) {
		failing[hostName(2+random.IntN(o.nodes-1))] = true
	}
	return failing
}

// canaries returns the pattern of the minions that may be canaries: all that the change does
// not break, since a broken canary ends the rollout. The host that arrives first becomes the
// canary, and any host may.
func (o options) canaries() string {
	pattern := "minion"
	for _, name := range slices.Sorted(maps.Keys(o.chooseFailing())) {
		pattern += ":!" + name
	}
	return pattern
}

// startMinions writes the old version to each minion, and serves the health checks.
func startMinions(f *fleet.Fleet, failing map[string]bool) (*minions, error) {
	m := &minions{hosts: map[string]*fleet.Host{}, failing: failing}
	for _, h := range f.Hosts[1:] {
		m.hosts[h.Name] = h
		if err := os.MkdirAll(filepath.Dir(versionPath(h)), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(versionPath(h), []byte(oldVersion+"\n"), 0o644); err != nil {
			return nil, err
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m.url = "http://" + listener.Addr().String()
	m.server = &http.Server{Handler: http.HandlerFunc(m.serve), ReadHeaderTimeout: time.Minute}
	go func() { _ = m.server.Serve(listener) }()
	return m, nil
}

func versionPath(h *fleet.Host) string { return filepath.Join(h.Root, "etc/bench/version") }

// version returns the version of a host, and the time at which the host got it.
func (m *minions) version(name string) (string, time.Time, error) {
	h, ok := m.hosts[name]
	if !ok {
		return "", time.Time{}, fmt.Errorf("there is no minion %q", name)
	}
	content, err := os.ReadFile(versionPath(h))
	if err != nil {
		return "", time.Time{}, err
	}
	info, err := os.Stat(versionPath(h))
	if err != nil {
		return "", time.Time{}, err
	}
	return strings.TrimSpace(string(content)), info.ModTime(), nil
}

// serve answers a health check: the path is the name of the host.
func (m *minions) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	version, since, err := m.version(name)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusNotFound)
	case version == newVersion && m.failing[name]:
		http.Error(w, "the kubelet does not start with this version", http.StatusInternalServerError)
	case time.Since(since) < restartTime:
		http.Error(w, "the kubelet starts", http.StatusServiceUnavailable)
	}
}

func (m *minions) stop() { _ = m.server.Close() }
