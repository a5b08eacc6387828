//go:build lab

package dns

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
)

// kubernetesName and outsideName are the names that pods resolve: one of the cluster, and one that the
// lab's name server knows.
const (
	kubernetesName = "kubernetes.default.svc.cluster.local."
	outsideName    = "m1.lab.test."
)

// lookupsDir has the program on the hosts, and its output.
const lookupsDir = "/srv/lookups"

// settled is the time in which all pods of cluster DNS have another Corefile and their caches forget: 45 s
// of the plugin reload, 30 s of the cache.
const settled = 90 * time.Second

type errorOf string

func (e errorOf) Error() string { return string(e) }

// lookups is the result for one name on one node.
type lookups struct {
	Name      string
	Lookups   int
	Failed    int
	Slow      int
	LongestMS int64 `json:"longest_ms"`
	First     []string
}

// clients are pods that resolve names, one on each node.
type clients struct {
	*harness.Site
	nodes []string
}

// newClients copies the program to the nodes.
func newClients(s *harness.Site, nodes ...string) *clients {
	s.T.Helper()
	program := filepath.Join(s.T.TempDir(), "lookups")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "./lookups")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		s.T.Fatalf("%v\n%s", err, out)
	}
	for _, node := range nodes {
		s.Shell(node, "mkdir -p "+lookupsDir)
		s.CopyTo(node, program, lookupsDir+"/lookups", "0755")
	}
	return &clients{s, nodes}
}

// while runs do while a pod on each node resolves both names. Pods start before, so that they have the
// resolv.conf of their time. It fails the test when more lookups fail than are allowed, and returns the sum.
func (c *clients) while(step string, allowed int, do func()) lookups {
	c.T.Helper()
	var pods strings.Builder
	for _, node := range c.nodes {
		c.Shell(node, "rm -f "+lookupsDir+"/STOP "+lookupsDir+"/out.json")
		pods.WriteString(pod("lookups-"+node, node, c.ProbeImage(node), lookupsDir+"/out.json", kubernetesName, outsideName))
	}
	c.Shell("m1", "cat > /tmp/lookups.yaml <<'EOF'\n"+pods.String()+"EOF")
	c.Kubectl("m1", "apply -f /tmp/lookups.yaml")
	c.Kubectl("m1", "-n kube-system wait --for=condition=Ready --timeout=60s -f /tmp/lookups.yaml")
	do()
	var sum lookups
	for _, node := range c.nodes {
		c.Shell(node, "touch "+lookupsDir+"/STOP")
		var text string
		c.Eventually(30*time.Second, "the lookups on "+node+" end", func() error {
			var err error
			text, err = c.SSH(c.T.Context(), node, "cat "+lookupsDir+"/out.json")
			return err
		})
		var list []lookups
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			c.T.Fatalf("%s: %v\n%s", node, err, text)
		}
		for _, l := range list {
			c.T.Logf("%s: %s resolved %s %d times: %d failed, %d took longer than 1 s, the longest %d ms %s",
				step, node, l.Name, l.Lookups, l.Failed, l.Slow, l.LongestMS, strings.Join(l.First, "; "))
			sum.Lookups, sum.Failed, sum.Slow = sum.Lookups+l.Lookups, sum.Failed+l.Failed, sum.Slow+l.Slow
			sum.LongestMS = max(sum.LongestMS, l.LongestMS)
		}
	}
	c.Kubectl("m1", "delete --now --ignore-not-found -f /tmp/lookups.yaml")
	if sum.Failed > allowed || sum.Lookups == 0 {
		c.T.Errorf("%s: %d of %d lookups failed, allowed are %d", step, sum.Failed, sum.Lookups, allowed)
	}
	total.Lookups, total.Failed, total.Slow = total.Lookups+sum.Lookups, total.Failed+sum.Failed, total.Slow+sum.Slow
	total.LongestMS = max(total.LongestMS, sum.LongestMS)
	if !c.T.Failed() {
		steps++
	}
	return sum
}

// hold starts a pod on a node that resolve uses, and returns the function that removes it.
func (c *clients) hold(node string) (remove func()) {
	c.T.Helper()
	c.Shell("m1", "cat > /tmp/hold.yaml <<'EOF'\n"+pod("hold-"+node, node, c.ProbeImage(node), "hold")+"EOF")
	c.Kubectl("m1", "apply -f /tmp/hold.yaml")
	c.Kubectl("m1", "-n kube-system wait --for=condition=Ready --timeout=60s pod/hold-"+node)
	return func() { c.Kubectl("m1", "-n kube-system delete --now pod hold-"+node) }
}

// resolve returns the addresses of a name in the pod that hold has started.
func (c *clients) resolve(node, name string) string {
	c.T.Helper()
	return strings.Join(strings.Fields(c.Kubectl("m1", "-n kube-system exec hold-"+node+" -- "+lookupsDir+"/lookups once "+name)), " ")
}

// pod returns the manifest of a pod that runs the program on a node.
func pod(name, node, image string, args ...string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: kube-system}
spec:
  nodeName: %s
  terminationGracePeriodSeconds: 0
  tolerations: [{operator: Exists}]
  containers:
  - {name: lookups, image: %q, imagePullPolicy: Never, command: [%s/lookups, %s], volumeMounts: [{name: dir, mountPath: %s}]}
  volumes: [{name: dir, hostPath: {path: %s}}]
`, name, node, image, lookupsDir, strings.Join(args, ", "), lookupsDir, lookupsDir)
}

// steps and total are the sum of all tests.
var (
	steps int
	total lookups
)

func TestMain(m *testing.M) {
	harness.SweepLabs()
	code := m.Run()
	fmt.Printf("dns steps=%d lookups=%d failed=%d slow=%d longest_ms=%d\n", steps, total.Lookups, total.Failed, total.Slow, total.LongestMS)
	os.Exit(code)
}
