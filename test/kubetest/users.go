package kubetest

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// User returns a configuration for a client that the API server knows as name,
// with the rights of rules in all namespaces and no others (but those of
// everyone: discovery and questions about one's own rights). The rights last
// until the test ends. Names are one test's own: tests in parallel use
// different ones. The client's rate limit is client-go's default.
func (c *Cluster) User(t testing.TB, name string, rules ...rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	cfg, err := c.clientConfig(name)
	if err != nil {
		t.Fatalf("kubetest: user %s: %v", name, err)
	}
	t.Cleanup(func() {
		ctx, cancel := callContext()
		defer cancel()
		if !c.running() {
			return // the rights stay; the next User of that name replaces them
		}
		if err := c.revoke(ctx, name); err != nil {
			t.Errorf("kubetest: revoke the rights of user %s: %v", name, err)
		}
	})
	c.Grant(t, name, rules...)
	return cfg
}

// Grant replaces the rights of a user made with User by those of rules, and
// returns when the API server acts on them. Watches that are open already go on
// either way, as always with Kubernetes.
func (c *Cluster) Grant(t testing.TB, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	ctx, cancel := callContext()
	defer cancel()
	if err := c.grant(ctx, user, rules); err != nil {
		t.Fatalf("kubetest: grant user %s rights: %v", user, err)
	}
}

// Revoke takes all rights from a user made with User, and returns when the API
// server acts on it. Watches that are open already go on, as always with
// Kubernetes; StopAPIServer ends them.
func (c *Cluster) Revoke(t testing.TB, user string) {
	t.Helper()
	ctx, cancel := callContext()
	defer cancel()
	if err := c.revoke(ctx, user); err != nil {
		t.Fatalf("kubetest: revoke the rights of user %s: %v", user, err)
	}
}

// markers is the folder of URLs, served by nobody, by which grant and revoke
// learn what the authorizer knows: it reads roles from a cache that lags behind.
const markers = "/kubetest/"

func roleName(user string) string { return "kubetest:" + user }

func (c *Cluster) grant(ctx context.Context, user string, rules []rbacv1.PolicyRule) error {
	c.mu.Lock()
	c.grants++
	marker := fmt.Sprintf("%s%d", markers, c.grants)
	c.mu.Unlock()

	rbac := c.clientset.RbacV1()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: roleName(user)}}
	role.Rules = append(role.Rules, rules...)
	role.Rules = append(role.Rules, rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{marker}})
	_, err := rbac.ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = rbac.ClusterRoles().Update(ctx, role, metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: roleName(user)},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	_, err = rbac.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	// The role is read as a whole: once the marker holds, so do the rules.
	return c.awaitAccess(ctx, user, marker, true)
}

func (c *Cluster) revoke(ctx context.Context, user string) error {
	rbac := c.clientset.RbacV1()
	role, err := rbac.ClusterRoles().Get(ctx, roleName(user), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := rbac.ClusterRoleBindings().Delete(ctx, role.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err := rbac.ClusterRoles().Delete(ctx, role.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	marker := role.Rules[len(role.Rules)-1].NonResourceURLs[0]
	return c.awaitAccess(ctx, user, marker, false)
}

// awaitAccess returns when the authorizer's answer, whether user may get the
// URL path, is want.
func (c *Cluster) awaitAccess(ctx context.Context, user, path string, want bool) error {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:                  user,
		Groups:                []string{"system:authenticated"},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: "get"},
	}}
	return poll(ctx, 10*time.Millisecond, func() (bool, error) {
		answer, err := c.clientset.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return answer.Status.Allowed == want, nil
	})
}

// Kubeconfig writes a kubeconfig file with one context for cfg, as User and
// Admin return it, and returns its path. The file goes when the test ends.
func (c *Cluster) Kubeconfig(t testing.TB, cfg *rest.Config) string {
	t.Helper()
	file := clientcmdapi.NewConfig()
	file.Clusters["kubetest"] = &clientcmdapi.Cluster{
		Server:                   cfg.Host,
		TLSServerName:            cfg.ServerName,
		CertificateAuthorityData: cfg.CAData,
	}
	file.AuthInfos["kubetest"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: cfg.CertData,
		ClientKeyData:         cfg.KeyData,
		Token:                 cfg.BearerToken,
	}
	file.Contexts["kubetest"] = &clientcmdapi.Context{Cluster: "kubetest", AuthInfo: "kubetest"}
	file.CurrentContext = "kubetest"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatalf("kubetest: kubeconfig: %v", err)
	}
	return path
}

// poll calls done at once and then in steps of interval, until it says true or
// fails or ctx ends.
func poll(ctx context.Context, interval time.Duration, done func() (bool, error)) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		ok, err := done()
		if err != nil || ok {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
