//go:build lab

package images

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// rebuilt builds an image of cluster DNS, then one of the scheduler, with a file more than
// before, and applies each: exactly the pods that run it are replaced or restarted.
func rebuilt(s site) {
	for _, image := range []struct{ name, file string }{
		{"coredns", corednsFile},
		{"kube-scheduler", schedulerFile},
	} {
		dir := s.T.TempDir()
		text := image.file + "files:\n  - {path: /etc/rebuilt, content: \"once more\\n\"}\n"
		if err := os.WriteFile(filepath.Join(dir, image.name+".yaml"), []byte(text), 0o600); err != nil {
			s.T.Fatal(err)
		}
		s.images("build", image.name, "--images", dir)
		s.images("test", image.name, "--images", dir)
		s.Must("artifacts", "lock", "--update")
		before, processes := s.containers(), s.otherProcesses(image.name)
		s.RequireExit(s.Run("apply", "-i", s.Inventory, "--yes"), 0)
		var changed []string
		for container, id := range s.containers() {
			if before[container] != id {
				changed = append(changed, container)
			}
		}
		if len(changed) == 0 {
			s.T.Errorf("a new image of %s restarted no container", image.name)
		}
		for _, c := range changed {
			if !strings.Contains(c, "/"+image.name) {
				s.T.Errorf("a new image of %s restarted %s", image.name, c)
			}
		}
		if diff := cmp.Diff(processes, s.otherProcesses(image.name)); diff != "" {
			s.T.Errorf("a new image of %s changed other processes (-before +after):\n%s", image.name, diff)
		}
		if o := s.Run("apply", "-i", s.Inventory, "--detailed-exitcode"); o.Code != 0 {
			s.T.Errorf("after a new image of %s, apply would change something: exit %d\n%s", image.name, o.Code, o.All())
		}
	}
	s.Must("verify")
}

// Image files of the project, without a list of files.
const (
	corednsFile = `name: coredns
base: scratch
certificate_authorities: true
binaries:
  - {from: coredns, program: coredns, path: /coredns}
user: "65532:65532"
entrypoint: [/coredns]
tests:
  - {name: states its version, command: [/coredns, -version], output: ^CoreDNS-}
`
	schedulerFile = `name: kube-scheduler
base: scratch
certificate_authorities: true
binaries:
  - {from: kubernetes, program: kube-scheduler, path: /usr/local/bin/kube-scheduler}
entrypoint: [/usr/local/bin/kube-scheduler]
tests:
  - {name: states its version, command: [/usr/local/bin/kube-scheduler, --version], output: ^Kubernetes}
`
)

// containers returns the ids of the containers of all pods of the cluster, by pod and
// container.
func (s site) containers() map[string]string {
	s.T.Helper()
	var pods struct {
		Items []struct {
			Metadata struct{ Namespace, Name string }
			Status   struct {
				ContainerStatuses []struct{ Name, ContainerID string }
			}
		}
	}
	if err := json.Unmarshal([]byte(s.Kubectl("m1", "get pods -n kube-system -o json")), &pods); err != nil {
		s.T.Fatal(err)
	}
	out := map[string]string{}
	for _, p := range pods.Items {
		for _, c := range p.Status.ContainerStatuses {
			out[fmt.Sprintf("%s/%s/%s", p.Metadata.Namespace, p.Metadata.Name, c.Name)] = c.ContainerID
		}
	}
	if len(out) == 0 {
		s.T.Fatal("kube-system has no containers")
	}
	return out
}

// otherProcesses lists the processes of both hosts except those of an image.
func (s site) otherProcesses(image string) string {
	s.T.Helper()
	var out strings.Builder
	for _, h := range hosts {
		for line := range strings.Lines(s.Processes(h)) {
			if !strings.HasPrefix(line, image) {
				fmt.Fprintf(&out, "%s %s", h, line)
			}
		}
	}
	return out.String()
}
