// Package external has the rules for authorities whose keys are outside of the cluster:
// which certificates may be one ([ParseAuthority]), what a host may request
// ([CheckRequest]), what the owner of the authority needs to sign it ([Describe]), and
// which issued certificate fits a request ([Verify]). The package does no I/O.
//
// A host makes the key and the request. A request that names anything other than the
// cluster's table is refused, because the owner of the authority may sign it as it is.
package external
