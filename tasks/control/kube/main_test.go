package kube

import (
	"net/http"
	"testing"
	"time"

	"deployer/tasks/control/kube/kubetest"
)

// serve starts the fake API and returns a client of it with a short retry timeout.
func serve(t *testing.T, api *kubetest.API) *Client {
	t.Helper()
	server := api.Start(t.Cleanup)
	client, err := New(Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithRetryTimeout(2 * time.Second)
}

func silent(string) {}
