// Package images holds the scenarios of built images on real hosts: deployer debug with its
// image, and images that are built anew and restart exactly the pods that run them. Builds
// write to a copy of the machine's artifacts. The scenarios need root and the build tag lab:
// `make e2e-images`.
package images
