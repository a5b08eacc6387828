package replace

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// openStack is a fake Keystone and Nova with one region.
type openStack struct {
	servers map[string]string // name by ID
	looks   int               // looks at a server that is being deleted, before it is gone
	failing bool
	log     []string
}

func (o *openStack) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v3/auth/tokens" {
		o.token(w, r)
		return
	}
	o.log = append(o.log, r.Method+" "+r.URL.RequestURI())
	if r.Header.Get("X-Auth-Token") != "t0ken" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	id := strings.TrimPrefix(r.URL.Path, "/v2.1/servers/")
	name, ok := o.servers[id]
	switch {
	case o.failing:
		w.WriteHeader(http.StatusInternalServerError)
	case r.URL.Path == "/v2.1/servers":
		o.list(w)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		o.servers[id] = "deleting " + name
		w.WriteHeader(http.StatusNoContent)
	default:
		if strings.HasPrefix(name, "deleting") {
			if o.looks--; o.looks < 0 {
				delete(o.servers, id)
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"server": map[string]any{"id": id, "name": name}})
	}
}

func (o *openStack) token(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Auth struct {
			Identity struct {
				Password struct {
					User struct {
						Name, Password string
						Domain         struct{ Name string }
					}
				}
			}
			Scope struct{ Project struct{ ID string } }
		}
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	user := body.Auth.Identity.Password.User
	if user.Name != "u" || user.Password != `p"$w` || user.Domain.Name != "Default" || body.Auth.Scope.Project.ID != "project" {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":{"message":"wrong password"}}`)
		return
	}
	w.Header().Set("X-Subject-Token", "t0ken")
	w.WriteHeader(http.StatusCreated)
	endpoint := func(region, path string) map[string]any {
		return map[string]any{"interface": "public", "region": region, "url": "http://" + r.Host + path}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"token": map[string]any{"catalog": []any{
		map[string]any{"type": "identity", "endpoints": []any{endpoint("one", "/v3")}},
		map[string]any{"type": "compute", "endpoints": []any{endpoint("two", "/other"), endpoint("one", "/v2.1/")}},
	}}})
}

func (o *openStack) list(w http.ResponseWriter) {
	list := []any{}
	for id, name := range o.servers {
		list = append(list, map[string]any{"id": id, "name": name})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"servers": list})
}

// openStackCluster returns a cluster whose hook is the example.
func openStackCluster(t *testing.T, o *openStack, password string) *cluster {
	t.Helper()
	for _, tool := range []string{"sh", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	server := httptest.NewServer(o)
	t.Cleanup(server.Close)
	dir, err := filepath.Abs("../../../examples/openstack-replace")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "kubernikus.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(file), "/etc/deployer", dir, 1) + "  parallel: 9\n"
	text = strings.Replace(text, "  env:\n", "  env:\n    POLL_SECONDS: '0.01'\n", 1)
	return newCluster(t, text, map[string]string{"OS_AUTH_URL": server.URL + "/v3", "OS_USERNAME": "u", "OS_PASSWORD": password, "OS_PROJECT_ID": "project", "OS_REGION_NAME": "one"})
}

func TestOpenStackExampleDeletesServers(t *testing.T) {
	o := &openStack{looks: 2, servers: map[string]string{"id-n0": "n0", "other": "n1", "third": "n.1", "stays": "n0x"}}
	k := openStackCluster(t, o, `p"$w`)
	for _, name := range []string{"n0", "n1", "gone"} {
		k.addNode(name, "v1.35.4", map[string]any{DeleteLabel: "true"})
	}
	object := k.api.Object("/api/v1/nodes/n1")
	delete(object["spec"].(map[string]any), "providerID")
	k.api.Put("/api/v1/nodes/n1", object)
	k.passes(1)
	if k.exists("n0") || k.exists("n1") || k.exists("gone") || len(o.servers) != 2 {
		t.Errorf("servers %v; %q", o.servers, o.log)
	}
	if !slices.Contains(o.log, "GET /v2.1/servers?name=%5En1%24") || !slices.Contains(o.log, "DELETE /v2.1/servers/id-n0") || !slices.Contains(o.log, "DELETE /v2.1/servers/other") {
		t.Errorf("%q", o.log)
	}
}

func TestOpenStackExampleFailsWithoutDeletingAnything(t *testing.T) {
	for name, c := range map[string]struct {
		o        openStack
		password string
		want     string
	}{
		"password":     {openStack{servers: map[string]string{"id-n0": "n0"}}, "mistaken", "Keystone answered 401: wrong password"},
		"other name":   {openStack{servers: map[string]string{"id-n0": "database"}}, `p"$w`, "server id-n0 has the name database, not n0"},
		"Nova is down": {openStack{servers: map[string]string{"id-n0": "n0"}, failing: true}, `p"$w`, "Nova answered 500 to the question for server id-n0"},
	} {
		t.Run(name, func(t *testing.T) {
			k := openStackCluster(t, &c.o, c.password)
			k.addNode("n0", "v1.35.4", map[string]any{DeleteLabel: "true"})
			err := k.pass()
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), c.password) {
				t.Errorf("got %v", err)
			}
			if !k.exists("n0") || len(c.o.servers) != 1 || slices.ContainsFunc(c.o.log, func(l string) bool { return strings.HasPrefix(l, "DELETE") }) {
				t.Errorf("servers %v; %q", c.o.servers, c.o.log)
			}
		})
	}
	o := &openStack{servers: map[string]string{"a": "n0", "b": "n0"}}
	k := openStackCluster(t, o, `p"$w`)
	k.addNode("n0", "v1.35.4", map[string]any{DeleteLabel: "true"})
	object := k.api.Object("/api/v1/nodes/n0")
	delete(object["spec"].(map[string]any), "providerID")
	k.api.Put("/api/v1/nodes/n0", object)
	if err := k.pass(); err == nil || !strings.Contains(err.Error(), "there are several servers with the name n0") || len(o.servers) != 2 {
		t.Errorf("got %v, servers %v", err, o.servers)
	}
}
