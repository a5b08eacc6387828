// Package terraform makes an inventory of the output of Terraform, in the form that the configurations of
// KubeOne write (docs.kubermatic.com/kubeone, "Terraform Integration").
package terraform
