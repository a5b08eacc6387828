//go:build lab

package harness

import (
	"fmt"
	"strings"
	"time"
)

// Pull runs a pod on a node whose image is pulled anew, and returns nil when it runs within
// 60 s, or else the last events of the pod.
func (s *Site) Pull(master, node, image string) error {
	s.T.Helper()
	pod := fmt.Sprintf("pull-%d", time.Now().UnixNano())
	manifest := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q},"spec":{"nodeName":%q,"tolerations":[{"operator":"Exists"}],"containers":[{"name":"c","image":%q,"imagePullPolicy":"Always"}]}}`, pod, node, image)
	s.Shell(master, fmt.Sprintf("cat > /tmp/pod.json <<'EOF'\n%s\nEOF", manifest))
	s.Kubectl(master, "apply -f /tmp/pod.json")
	defer s.Kubectl(master, "delete pod "+pod+" --wait=false")
	for range 60 {
		if s.Kubectl(master, "get pod "+pod+" -o 'jsonpath={.status.containerStatuses[0].ready}'") == "true" {
			return nil
		}
		if why := s.Kubectl(master, "get pod "+pod+" -o 'jsonpath={.status.containerStatuses[0].state.waiting.message}'"); strings.Contains(why, "401") || strings.Contains(why, "403") {
			return fmt.Errorf("%s", why)
		}
		time.Sleep(time.Second)
	}
	return fmt.Errorf("a pod of %s does not run on %s:\n%s", image, node, s.Kubectl(master, "get events --field-selector involvedObject.name="+pod))
}
