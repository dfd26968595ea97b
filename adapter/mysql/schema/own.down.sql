DROP TABLE IF EXISTS authsvc_session;
DROP TABLE IF EXISTS authsvc_mail;
DROP TABLE IF EXISTS authsvc_once;
DROP TABLE IF EXISTS authsvc_revocation;
DROP TABLE IF EXISTS authsvc_meta;
