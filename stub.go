package authsvc
type builder struct{}
type request struct{}
type outcome interface{}
type MailTemplates struct{}
