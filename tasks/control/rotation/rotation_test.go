package rotation

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"deployer/cluster"
	"deployer/cluster/encryption"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

const newName = "key-20261123-073015"

// lab is a cluster of two masters: API servers that encrypt, and etcd with their values.
type lab struct {
	*actiontest.Context
	api     *kubetest.API
	ring    *keyring.Keyring
	servers map[string]*httptest.Server

	mu       sync.Mutex
	values   map[string]string // prefix of the value, by key of etcd
	prefix   map[string]string // with which an API server encrypts
	refuse   string            // path that no API server writes
	conflict int               // writes that conflict before one succeeds
	blind    string            // master whose API server reads no Secret of others
}

const (
	oldPrefix = "k8s:enc:secretbox:v1:key1:"
	newPrefix = "k8s:enc:secretbox:v1:" + newName + ":"
)

func newLab(t *testing.T) *lab {
	t.Helper()
	keys, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{api: &kubetest.API{}, ring: &keyring.Keyring{}, servers: map[string]*httptest.Server{}, values: map[string]string{}, prefix: map[string]string{}}
	if err := l.ring.Fill(keys); err != nil {
		t.Fatal(err)
	}
	services := engine.Services{}
	engine.Provide(services, l.ring)
	engine.Provide(services, kube.NewAccess(l.ring))
	engine.Provide(services, etcd.Opener(func(string, string) (etcd.Member, error) { return member{l: l}, nil }))
	engine.Provide(services, &cluster.Cluster{Masters: []string{"m1", "m2"}, API: cluster.API{Port: 6443}, Encryption: cluster.Encryption{AtRest: true},
		Etcd: cluster.Etcd{Members: []cluster.Endpoint{{Name: "m1", HostPort: "10.0.0.1:2379"}}, Peers: []cluster.Endpoint{{Name: "m1", URL: "https://10.0.0.1:2380"}}}})
	l.Context = &actiontest.Context{Name: "m1", Run: "r1", Hosts: []string{"m1", "m2"}, Provided: services, DialFunc: l.dial}
	held := engine.Output{"files": map[string]any{keyring.EncryptionConf: string(keys.Files()[keyring.EncryptionConf])}}
	l.Results = map[string]map[string]engine.Output{"m1": {"found": held}, "m2": {"found": held}}
	l.put("/api/v1/namespaces/kube-system", map[string]any{"kind": "Namespace"})
	l.put("/api/v1/namespaces/default", map[string]any{"kind": "Namespace"})
	for i := range 7 {
		l.secret(fmt.Sprintf("s%d", i), oldPrefix)
	}
	for _, master := range []string{"m1", "m2"} {
		l.prefix[master] = oldPrefix
		l.serve(t, keys, master)
	}
	return l
}

func (l *lab) put(path string, object map[string]any) {
	object["apiVersion"] = "v1"
	object["metadata"] = map[string]any{"name": path[strings.LastIndex(path, "/")+1:], "namespace": "default"}
	l.api.Put(path, object)
}

func (l *lab) secret(name, prefix string) {
	l.put("/api/v1/namespaces/default/secrets/"+name, map[string]any{"kind": "Secret"})
	l.values["/registry/secrets/default/"+name] = prefix
}

// serve starts the API server of a master, which writes each value to etcd with its
// prefix.
func (l *lab) serve(t *testing.T, keys *keyring.Keys, master string) {
	t.Helper()
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	cert, err := keys.Sign(keyring.Certificate{Name: "apiserver", Authority: keyring.Cluster, CommonName: "kube-apiserver", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, Server: true}, key.Public(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(cert)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.answer(w, r, master) }))
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{block.Bytes}, PrivateKey: key}}}
	s.StartTLS()
	t.Cleanup(s.Close)
	l.servers[master] = s
}

func (l *lab) answer(w http.ResponseWriter, r *http.Request, master string) {
	path := r.URL.Path
	key := strings.Replace(strings.Replace(path, "/api/v1/namespaces/", "/registry/secrets/", 1), "/secrets/", "/", 2)
	key = strings.Replace(key, "/registry/", "/registry/secrets/", 1)
	l.mu.Lock()
	status := 0
	switch {
	case path == "/api/v1":
		_, _ = fmt.Fprint(w, `{"resources":[{"name":"secrets","namespaced":true,"kind":"Secret","verbs":["list","patch"]},{"name":"secrets/status","verbs":["list","patch"]},{"name":"bindings","verbs":["create"]}]}`)
		l.mu.Unlock()
		return
	case r.Method == http.MethodGet && l.blind == master && strings.HasSuffix(path, "-m1"):
		status = http.StatusForbidden
	case r.Method != http.MethodPatch:
	case path == l.refuse:
		status = http.StatusForbidden
	case l.conflict > 0 && !strings.Contains(path, tryPrefix):
		l.conflict--
		status = http.StatusConflict
	default:
		l.values[key] = l.prefix[master]
	}
	l.mu.Unlock()
	if status == 0 {
		l.api.ServeHTTP(w, r)
		return
	}
	reason := map[int]string{http.StatusConflict: "Conflict", http.StatusForbidden: "Forbidden"}[status]
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":"refused","code":%d}`, reason, status)
}

func (l *lab) dial(ctx context.Context, host, network, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, l.servers[host].Listener.Addr().String())
}

// member is a member of etcd that has the values.
type member struct {
	etcd.Member
	l *lab
}

func (member) Close() error               { return nil }
func (member) Read(context.Context) error { return nil }
func (member) Status(context.Context) (etcd.Status, error) {
	return etcd.Status{MemberID: 1, Leader: 1}, nil
}
func (member) Members(context.Context) ([]etcd.Entry, error) {
	return []etcd.Entry{{ID: 1, Name: "m1", PeerURLs: []string{"https://10.0.0.1:2380"}, ClientURLs: []string{"https://10.0.0.1:2379"}}}, nil
}

func (m member) Range(_ context.Context, from string, limit int64) ([]etcd.Pair, error) {
	m.l.mu.Lock()
	defer m.l.mu.Unlock()
	var out []etcd.Pair
	for key, prefix := range m.l.values {
		if key >= from {
			out = append(out, etcd.Pair{Key: key, Value: []byte(prefix + "ciphertext")})
		}
	}
	slices.SortFunc(out, func(a, b etcd.Pair) int { return strings.Compare(a.Key, b.Key) })
	return out[:min(len(out), int(limit))], nil
}

// stale returns the number of values with the former key.
func (l *lab) stale() int {
	n := 0
	for _, prefix := range l.values {
		if prefix == oldPrefix {
			n++
		}
	}
	return n
}

// step takes a step, and requires the names of the keys after it.
func (l *lab) step(t *testing.T, step string, want ...any) engine.Change {
	t.Helper()
	change, err := (&Key{Step: step, Name: newName, Found: "found"}).Check(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, change.Output["keys"]); diff != "" {
		t.Errorf("keys after the step %s: %s", step, diff)
	}
	return change
}

// encrypt makes the API servers of masters encrypt with the new key.
func (l *lab) encrypt(masters ...string) {
	for _, m := range masters {
		l.prefix[m] = newPrefix
	}
}

func (l *lab) rewrite(t *testing.T) (engine.Output, error) {
	t.Helper()
	action := &Rewrite{Rate: 10000}
	change, err := action.Check(t.Context(), l)
	if err != nil || !change.Needed {
		t.Fatalf("change %+v, error %v", change, err)
	}
	return action.Apply(t.Context(), l, change)
}

func TestRotation(t *testing.T) {
	l := newLab(t)
	if change := l.step(t, "add", "key1", newName); !change.Needed {
		t.Error("a new key is no change")
	}
	if change := l.step(t, "add", "key1", newName); change.Needed {
		t.Error("the step is taken twice")
	}
	if _, err := (&Key{Step: "drop"}).Check(t.Context(), l); err == nil || !strings.Contains(err.Error(), newName+" does not encrypt yet") {
		t.Errorf("dropped too early: %v", err)
	}
	l.step(t, "write", newName, "key1")
	if _, err := (&Key{Step: "drop"}).Check(t.Context(), l); err == nil || !strings.Contains(err.Error(), "etcd holds 7 objects that they have encrypted: /registry/secrets/default/s0, ") {
		t.Errorf("dropped while Secrets need the key: %v", err)
	}
	l.encrypt("m1", "m2")
	l.conflict = 15
	out, err := l.rewrite(t)
	if err != nil || out["objects"] != 7 || l.stale() != 0 {
		t.Errorf("wrote %v, %d are left, error %v", out, l.stale(), err)
	}
	for _, path := range l.api.Paths() {
		if strings.Contains(path, tryPrefix) {
			t.Errorf("%s is left", path)
		}
	}
	l.step(t, "drop", newName)
	const later = "key-20261123-170000"
	for _, c := range []struct {
		name   string
		minAge time.Duration
		want   []any
	}{
		{newName, 0, []any{newName}}, // a resumed run
		{later, 24 * time.Hour, []any{newName}},
		{"key-20261124-073015", 24 * time.Hour, []any{newName, "key-20261124-073015"}},
		{later, 0, []any{newName, later}},
	} {
		keys, _ := l.ring.Keys()
		change, err := (&Key{Step: "add", Name: c.name, Found: "found", MinAge: c.minAge}).Check(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, change.Output["keys"]); diff != "" || change.Needed != (len(c.want) == 2) {
			t.Errorf("%s from an age of %s on: needed %v, keys %s", c.name, c.minAge, change.Needed, diff)
		}
		if err := l.ring.Fill(keys); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := (&Key{Step: "add", Name: "key-20261123-073014", Found: "found"}).Check(t.Context(), l); !errors.Is(err, encryption.ErrOlder) {
		t.Errorf("an older key: %v", err)
	}
}

// TestRotationContinuesToDrop checks that a rotation which was killed during the step
// drop does not restore the dropped key, unless an object needs it.
func TestRotationContinuesToDrop(t *testing.T) {
	l := newLab(t)
	keys, _ := l.ring.Keys()
	file, _ := keys.Encryption()
	added, _ := file.Add(newName)
	writing, _ := added.Promote()
	dropped, _ := writing.Drop()
	l.Results = map[string]map[string]engine.Output{
		"m1": {"found": {"files": map[string]any{keyring.EncryptionConf: string(dropped.Bytes())}}},
		"m2": {"found": {"files": map[string]any{keyring.EncryptionConf: string(writing.Bytes())}}},
	}
	for _, c := range []struct {
		prefix string // of an object
		want   []any
	}{{oldPrefix, []any{newName, "key1"}}, {newPrefix, []any{newName}}} {
		if err := l.ring.Fill(keys.WithEncryption(writing)); err != nil {
			t.Fatal(err)
		}
		for key := range l.values {
			l.values[key] = c.prefix
		}
		change, err := (&Key{Step: "add", Name: "key-20261124-000000", Found: "found"}).Check(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, change.Output["keys"]); diff != "" {
			t.Errorf("objects begin with %s: %s", c.prefix, diff)
		}
	}
}

func TestRewriteRefusesAnAPIServerThatDoesNotFollow(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*lab)
		want    string
	}{
		"an API server encrypts with the former key": {func(l *lab) { l.encrypt("m1") }, "the API server of m2 does not encrypt with the key " + newName},
		"an API server cannot read with the new key": {func(l *lab) { l.encrypt("m1", "m2"); l.blind = "m2" },
			"the API server of m2 does not read a Secret that the one of m1 has written"},
		"an API server refuses an object": {func(l *lab) { l.encrypt("m1", "m2"); l.refuse = "/api/v1/namespaces/default/secrets/s3" },
			"1 of 7 objects in etcd are not encrypted with " + newName + " (/registry/secrets/default/s3): secrets default/s3: refused"},
		"no API lists a stale object": {func(l *lab) { l.encrypt("m1", "m2"); l.values["/registry/gone.example.org/x/y"] = oldPrefix },
			"1 of 8 objects in etcd are not encrypted with " + newName + " (/registry/gone.example.org/x/y): the resources in the encryption configuration do not include them"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.step(t, "add", "key1", newName)
			l.step(t, "write", newName, "key1")
			c.prepare(l)
			if _, err := l.rewrite(t); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if _, err := (&Key{Step: "drop"}).Check(t.Context(), l); err == nil {
				t.Error("the former key is dropped")
			}
		})
	}
}

// TestDryRunNeedsNoRewrite checks that a dry run completes although no object is
// written, and that it shows how many objects would be written.
func TestDryRunNeedsNoRewrite(t *testing.T) {
	l := newLab(t)
	l.Check = true
	l.step(t, "add", "key1", newName)
	l.step(t, "write", newName, "key1")
	change, err := NewRewrite().Check(t.Context(), l)
	if err != nil || len(change.Effects) != 1 || change.Effects[0].Target != "7 objects" {
		t.Errorf("change %+v, error %v", change, err)
	}
	l.step(t, "drop", newName)
	if writes := l.api.Writes(); len(writes) != 0 {
		t.Errorf("a dry run writes: %v", writes)
	}
}

func TestRotationIsRefused(t *testing.T) {
	l := newLab(t)
	c, _ := engine.Service[*cluster.Cluster](l.Provided)
	c.Encryption.AtRest = false
	add := &Key{Step: "add", Name: newName, Found: "found"}
	if _, err := add.Check(t.Context(), l); err == nil || !strings.Contains(err.Error(), "at_rest: false") {
		t.Errorf("without encryption: %v", err)
	}
	c.Encryption.AtRest = true
	lease := func(host string, renewed time.Time) {
		l.put("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/"+host, map[string]any{"kind": "Lease", "spec": map[string]any{"renewTime": renewed.Format(metav1.RFC3339Micro)}})
		object := l.api.Object("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/" + host)
		object["metadata"].(map[string]any)["labels"] = map[string]any{"apiserver.kubernetes.io/identity": "kube-apiserver", "kubernetes.io/hostname": host}
		l.api.Put("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/"+host, object)
	}
	now := time.Now()
	lease("m1", now)
	lease("m2", now.Add(-12*time.Second))
	lease("former", now.Add(-10*time.Minute))
	l.step(t, "add", "key1", newName)
	lease("former", now.Add(-3*time.Second))
	if _, err := add.Check(t.Context(), l); err == nil || !strings.Contains(err.Error(), "3 API servers run, on former, m1, m2, and the inventory has 2 masters") {
		t.Errorf("with another API server: %v", err)
	}
	delete(l.Results, "m2")
	if _, err := add.Check(t.Context(), l); err == nil || !strings.Contains(err.Error(), "m2 did not report") {
		t.Errorf("without a master: %v", err)
	}
}
