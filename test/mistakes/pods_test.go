//go:build lab

package mistakes

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// deploy runs pods of an idle program on a node. finalizers and command may be nil. It returns when
// the pods have started once.
func (s *site) deploy(name, node string, replicas int, finalizers, command []string) {
	s.T.Helper()
	container := map[string]any{"name": "c", "image": s.pauseImage(node), "imagePullPolicy": "Never"}
	if command != nil {
		container["command"] = command
	}
	labels := map[string]any{"app": name}
	manifest, err := json.Marshal(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"replicas": replicas,
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels, "finalizers": finalizers},
				"spec":     map[string]any{"nodeSelector": map[string]any{"kubernetes.io/hostname": node}, "tolerations": []any{map[string]any{"operator": "Exists"}}, "containers": []any{container}},
			},
		},
	})
	if err != nil {
		s.T.Fatal(err)
	}
	s.apply(string(manifest) + "\n")
	want := strings.TrimSpace(strings.Repeat("Running ", replicas))
	s.Eventually(2*time.Minute, "the pods of "+name+" have started", func() error {
		if got := s.Kubectl("m1", "get pods -l app="+name+" -o 'jsonpath={.items[*].status.phase}'"); got != want {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
}

// undeploy removes what deploy has made. Its pods may end by themselves meanwhile.
func (s *site) undeploy(names ...string) {
	s.T.Helper()
	const kubectl = "kubectl --kubeconfig /etc/kubernetes/admin.conf "
	for _, name := range names {
		s.Kubectl("m1", "delete deployment "+name)
		s.Shell("m1", "for pod in $("+kubectl+"get pods -l app="+name+" -o name); do "+kubectl+`patch $pod --type merge -p '{"metadata":{"finalizers":null}}'; `+kubectl+"delete $pod --force --grace-period=0; done; true")
	}
}

// pauseImage returns the image of an idle program that is on every node.
func (s *site) pauseImage(node string) string {
	s.T.Helper()
	return s.Shell(node, "ctr -n k8s.io images ls -q | grep /pause: | head -1")
}

// occupyNextName makes containerd run a container that has the name of the next container of a
// static pod and that the kubelet takes for another one. It returns a function that removes it.
func (s *site) occupyNextName(host, pod string) func() {
	s.T.Helper()
	label := func(key, value string) string { return `labels."` + key + `"==` + value }
	mirror := pod + "-" + host
	sandbox := s.Shell(host, "ctr -n k8s.io containers ls -q '"+label("io.cri-containerd.kind", "sandbox")+","+label("io.kubernetes.pod.name", mirror)+"' | head -1")
	ids := s.Shell(host, "ctr -n k8s.io containers ls -q '"+label("io.cri-containerd.kind", "container")+","+label("io.kubernetes.pod.name", mirror)+"'")
	attempt := uint32(0)
	for _, id := range strings.Fields(ids) {
		attempt = max(attempt, s.container(host, id).attempt())
	}
	uid := s.container(host, sandbox).Labels["io.kubernetes.pod.uid"]
	labels := map[string]string{"io.kubernetes.pod.name": mirror, "io.kubernetes.pod.namespace": "kube-system", "io.kubernetes.pod.uid": uid, "io.kubernetes.container.name": "stranger"}
	var made runtimeapi.CreateContainerResponse
	s.cri(host, "CreateContainer", &runtimeapi.CreateContainerRequest{
		PodSandboxId: sandbox,
		Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: pod, Attempt: attempt + 1},
			Image:    &runtimeapi.ImageSpec{Image: s.pauseImage(host)}, Labels: maps.Clone(labels), LogPath: "stranger.log",
			Annotations: map[string]string{"io.kubernetes.container.hash": "0", "io.kubernetes.container.restartCount": "0", "io.kubernetes.pod.terminationGracePeriod": "0", "io.kubernetes.container.terminationMessagePath": "/x", "io.kubernetes.container.terminationMessagePolicy": "File"},
			Linux:       &runtimeapi.LinuxContainerConfig{},
		},
		SandboxConfig: &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Name: mirror, Namespace: "kube-system", Uid: uid}, Linux: &runtimeapi.LinuxPodSandboxConfig{}},
	}, &made)
	s.cri(host, "StartContainer", &runtimeapi.StartContainerRequest{ContainerId: made.ContainerId}, &runtimeapi.StartContainerResponse{})
	return func() {
		s.cri(host, "RemoveContainer", &runtimeapi.RemoveContainerRequest{ContainerId: made.ContainerId}, &runtimeapi.RemoveContainerResponse{})
	}
}

// container is what containerd knows of a container or sandbox.
type container struct {
	Labels     map[string]string
	Extensions map[string]struct{ Value []byte }
}

func (s *site) container(host, id string) (c container) {
	s.T.Helper()
	if err := json.Unmarshal([]byte(s.Shell(host, "ctr -n k8s.io containers info "+id)), &c); err != nil {
		s.T.Fatal(err)
	}
	return c
}

// attempt returns the number in the name of a container.
func (c container) attempt() uint32 {
	var meta struct {
		Metadata struct {
			Config struct {
				Metadata struct{ Attempt uint32 }
			}
		}
	}
	_ = json.Unmarshal(c.Extensions["io.cri-containerd.container.metadata"].Value, &meta) // another number would show in the test
	return meta.Metadata.Config.Metadata.Attempt
}

// cri calls a method of containerd's runtime service on a host, by gRPC with curl.
func (s *site) cri(host, method string, request, response proto.Message) {
	s.T.Helper()
	message, err := proto.Marshal(request)
	if err != nil {
		s.T.Fatal(err)
	}
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	out := s.Shell(host, "printf "+base64.StdEncoding.EncodeToString(body)+" | base64 -d | curl -sS --http2-prior-knowledge --unix-socket /run/containerd/containerd.sock -H 'content-type: application/grpc' -H 'te: trailers' -D /tmp/headers --data-binary @- http://localhost/runtime.v1.RuntimeService/"+method+" | base64 -w0")
	raw, err := base64.StdEncoding.DecodeString(out)
	if err != nil || len(raw) < 5 {
		s.T.Fatalf("%s: %v, %s\n%s", method, err, strconv.Quote(out), s.Shell(host, "cat /tmp/headers"))
	}
	if err := proto.Unmarshal(raw[5:], response); err != nil {
		s.T.Fatal(err)
	}
}
