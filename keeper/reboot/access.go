package reboot

import (
	"fmt"

	"deployer/keeper/apiaccess"
	"deployer/tasks/control/kube"
)

// connect returns a client of the API with the kubelet's certificate. It opens no connection. Connections to three
// addresses fit into apiTimeout.
func connect(api apiaccess.Node) (*kube.Client, error) {
	config, dial, err := api.Connection()
	if err != nil {
		return nil, err
	}
	return kube.New(kube.Options{URL: api.Server, TLS: config, Dial: dial})
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
