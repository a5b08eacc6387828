//go:build lab

package harness

import (
	"fmt"
	"testing"

	"deployer/images"
)

// PageAddon returns the manifest of an add-on with an image that no part of the cluster has: nginx of a
// directory of artifacts, which serves a page at the Service page of the namespace page. The Deployment is
// available when the page is served.
func PageAddon(t *testing.T, artifacts string) string {
	t.Helper()
	index, err := images.ReadIndex(artifacts)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range index.Entries {
		if e.Name == "nginx" && e.Kind == images.KindImage {
			return fmt.Sprintf(pageAddon, e.Version)
		}
	}
	t.Fatalf("%s has no image of nginx", artifacts)
	return ""
}

const pageAddon = `
apiVersion: v1
kind: ConfigMap
metadata: {name: page}
data:
  nginx.conf: |
    user nginx nginx;
    pid /tmp/nginx.pid;
    error_log stderr;
    events {}
    http {
      access_log off;
      server { listen 8080; location / { default_type text/plain; return 200 "delivered\n"; } }
    }
---
apiVersion: v1
kind: Service
metadata: {name: page}
spec: {selector: {app: page}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: page}
spec:
  selector: {matchLabels: {app: page}}
  template:
    metadata: {labels: {app: page}}
    spec:
      containers:
        - name: nginx
          image: docker.io/library/nginx:%s
          command: [nginx, -c, /etc/page/nginx.conf, -g, daemon off;]
          readinessProbe: {httpGet: {path: /, port: 8080}}
          volumeMounts: [{name: config, mountPath: /etc/page}, {name: tmp, mountPath: /tmp}]
      volumes: [{name: config, configMap: {name: page}}, {name: tmp, emptyDir: {}}]
`

// PageCommand is the command for a master that prints the page of PageAddon.
const PageCommand = "kubectl --kubeconfig /etc/kubernetes/admin.conf get --raw /api/v1/namespaces/page/services/page/proxy/"
