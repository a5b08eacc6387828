package main

import (
	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"deployer/runs"
	"deployer/runs/target"
)

func newKubeconfigCommand(e env) *cobra.Command {
	var path, server, file string
	var ask target.PromptFlags
	cmd := &cobra.Command{
		Use:     "kubeconfig",
		GroupID: "cluster",
		Short:   "Write an admin kubeconfig",
		Long: `Kubeconfig reads the admin certificate from a master and writes a kubeconfig to
standard output, or to a file with mode 0600. The certificate has full rights on the
cluster: keep it like a password.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := loadCluster(path)
			if err != nil {
				return err
			}
			if server == "" {
				server = p.Cluster.API.External
			}
			admin, err := newRunner(e).ReadAdminCredentials(cmd.Context(), p, ask)
			if err != nil {
				return err
			}
			content, err := kubeconfig(p.Cluster.Name, server, admin)
			if err != nil {
				return err
			}
			if file == "" {
				_, err = e.stdout.Write(content)
				return err
			}
			return writePrivate(file, content)
		},
	}
	inventoryFlag(cmd, &path)
	promptFlags(cmd, &ask)
	cmd.Flags().StringVar(&server, "server", "", "URL of the API server (default: cluster.api.endpoint, the virtual address, the first proxy, or the first master)")
	cmd.Flags().StringVarP(&file, "file", "f", "", "file to write (default: standard output)")
	return cmd
}

func kubeconfig(name, server string, admin *runs.AdminCredentials) ([]byte, error) {
	const user = "kubernetes-admin"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: admin.CA}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: admin.Cert, ClientKeyData: admin.Key}
	config.Contexts[user+"@"+name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = user + "@" + name
	return clientcmd.Write(*config)
}
