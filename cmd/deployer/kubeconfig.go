package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"deployer/engine"
	"deployer/engine/schedule"
	"deployer/project"
	"deployer/runs/content"
	"deployer/runs/reach"
	"deployer/tasks/inspect"
)

func newKubeconfigCommand(e env) *cobra.Command {
	var path, server, file string
	var ask reach.Asking
	cmd := &cobra.Command{
		Use:     "kubeconfig",
		GroupID: "cluster",
		Short:   "Write an admin kubeconfig",
		Long: `Kubeconfig reads the admin's certificate from a master and writes a kubeconfig
that holds it, to standard output or to a file that only you can read. It gives
full rights on the cluster: keep it like a password.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := loadCluster(path)
			if err != nil {
				return err
			}
			if server == "" {
				server = p.Cluster.API.External
			}
			files, err := readAdmin(cmd.Context(), e, p, ask)
			if err != nil {
				return err
			}
			content, err := kubeconfig(p.Cluster.Name, server, files)
			if err != nil {
				return err
			}
			if file == "" {
				_, err = e.stdout.Write(content)
				return err
			}
			return os.WriteFile(file, content, 0o600)
		},
	}
	inventoryFlag(cmd, &path)
	askFlags(cmd, &ask)
	cmd.Flags().StringVar(&server, "server", "", "address of the API (default: the first proxy, or the first master)")
	cmd.Flags().StringVarP(&file, "file", "f", "", "file to write (default: standard output)")
	return cmd
}

// The admin's files on every master.
const (
	adminCA   = "/etc/kubernetes/pki/ca.crt"
	adminCert = "/etc/kubernetes/pki/admin.crt"
	adminKey  = "/etc/kubernetes/pki/admin.key"
)

// readAdmin reads the admin's files from the first master that has them. They
// go through no event, journal or log.
func readAdmin(ctx context.Context, e env, p *project.Project, a reach.Asking) (map[string]string, error) {
	store, err := content.New(p)
	if err != nil {
		return nil, err
	}
	l, err := reach.NewLogins(p, a, prompt{e.stdin, e.stderr}.secret)
	if err != nil {
		return nil, err
	}
	c, err := reach.New(p, l, 1)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.Unlock(p.Cluster.Masters); err != nil {
		return nil, err
	}
	c.Serve(reach.Serving{Blobs: store, Sink: silence{}})
	var errs []error
	for _, master := range p.Cluster.Masters {
		files, err := readFiles(ctx, c, master, adminCA, adminCert, adminKey)
		if err == nil {
			return files, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", master, err))
	}
	return nil, fmt.Errorf("no master gives the admin's certificate; is the cluster installed?\n%w", errors.Join(errs...))
}

func readFiles(ctx context.Context, c schedule.Connector, host string, paths ...string) (map[string]string, error) {
	session, err := c.Connect(ctx, host)
	if err != nil {
		return nil, err
	}
	defer func() { _ = session.Close() }()
	args, err := json.Marshal(&inspect.Read{Paths: paths})
	if err != nil {
		return nil, err
	}
	var result engine.Result
	segment := engine.Segment{Run: "read", Steps: []engine.Step{{ID: "read", Name: "read", Module: "read", Args: args, Secret: true}}}
	if err := session.Run(ctx, segment, func(r engine.Result) { result = r }); err != nil {
		return nil, err
	}
	if result.Failure != nil {
		return nil, result.Failure
	}
	found, _ := result.Output["files"].(map[string]any)
	files := map[string]string{}
	for _, path := range paths {
		text, ok := found[path].(string)
		if !ok {
			return nil, fmt.Errorf("%s was not read", path)
		}
		files[path] = text
	}
	return files, nil
}

func kubeconfig(name, server string, files map[string]string) ([]byte, error) {
	const user = "kubernetes-admin"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: []byte(files[adminCA])}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: []byte(files[adminCert]), ClientKeyData: []byte(files[adminKey])}
	config.Contexts[user+"@"+name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = user + "@" + name
	return clientcmd.Write(*config)
}
