// Package noderenewal renews certificates of a node that is no master on the node itself. A timer of the
// node starts "deployer-agent certificates", which calls [Main].
//
// The node asks for its certificates by CertificateSigningRequests of Kubernetes, as its kubelet: its keys
// stay where they are. The leading keeper approves by rule (package decide), and the controller manager
// signs. The module certificate compares what comes back with what the certificate has to be, as in a run,
// and installs it; processes that read it only when they start are restarted, and a proof that fails brings
// the former files back.
package noderenewal
