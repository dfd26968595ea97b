DROP TABLE IF EXISTS authsvc_jwt_session;
DROP TABLE IF EXISTS authsvc_credential;
DROP TABLE IF EXISTS authsvc_person;
